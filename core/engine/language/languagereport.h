// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/language/languagewords.h"
#include "core/tensor/tensor.h"
#include "core/trace/run.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retro::engine
{

/// A token that was named or chosen, and its score.
struct ScoredToken
{
    std::int64_t id = 0;
    std::string text; ///< empty where nobody knows words
    double score = 0;

    /// `" Paris" (12366)`
    [[nodiscard]] std::string quoted() const;
};

/// A word that the text went on with, and the relevance of the tokens before it.
struct GeneratedStep
{
    ScoredToken token;
    std::int64_t position = 0; ///< of the token at which it was asked for
    std::vector<double> relevance;
};

/// Another question about the same position, for comparing.
struct OtherAnswer
{
    std::string title;
    std::vector<double> relevance; ///< per token
};

/// What an explanation of a text says, for people and files.
struct LanguageReport
{
    std::string model;
    std::string text;                  ///< as it was given; empty for numbers
    std::vector<LanguageToken> tokens; ///< of the explained text
    std::vector<double> relevance;     ///< per token
    std::string composite;
    std::int64_t position = -1; ///< of the explained token; -1 = the target is no word at a position
    std::string otherTarget;    ///< then: which
    ScoredToken target;
    std::vector<ScoredToken> contrast;
    ScoredToken best;
    double score = 0; ///< of the target, less the mean of the contrast
    double started = 0;
    double reached = 0;                   ///< Σ over the tokens
    std::map<std::string, double> losses; ///< by cause
    tensor::Tensor layers;                ///< (layers + 1) × tokens; invalid where they are not known
    tensor::Tensor heads;                 ///< layers × tokens × heads; the same
    std::vector<GeneratedStep> generated;
    std::vector<LanguageToken> generatedTokens; ///< behind those of the text
    std::vector<OtherAnswer> others;

    /// Share of a token in Σ |R|; 0 where all are 0.
    [[nodiscard]] double shareOf(std::size_t token) const;
};

/// Lines for a terminal: the target, where relevance went, the tokens with bars.
[[nodiscard]] std::vector<std::string> reportLines(const LanguageReport& report);
/// tokens.json.
[[nodiscard]] nlohmann::ordered_json reportJson(const LanguageReport& report);
/// tokens.csv.
[[nodiscard]] std::string tokensCsv(const LanguageReport& report);

/// Writes tokens.csv, tokens.json, and what is there of layers.npy, layers.csv, heads.npy, generation.csv,
/// generation.npy into a folder. Errors: Output.
[[nodiscard]] base::Result<void> writeReport(const std::filesystem::path& folder, const LanguageReport& report);

/// What a recorded run of a text says, after `position` events (none = at its end). Errors (Input): it is of no text,
/// no relevance has reached the tokens.
[[nodiscard]] base::Result<LanguageReport> reportOf(const trace::Run& run,
                                                    std::optional<std::uint64_t> position = std::nullopt);

} // namespace retro::engine
