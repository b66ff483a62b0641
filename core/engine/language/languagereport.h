// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/language/languagewords.h"
#include "core/tensor/tensor.h"
#include "core/trace/run.h"
#include "core/trace/runtext.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
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

/// `" Paris" (12366) instead of " London" (7295)`
[[nodiscard]] std::string againstText(const ScoredToken& target, const std::vector<ScoredToken>& contrast);

/// What the layers say of an explained position.
struct LayerParts
{
    tensor::Tensor layers;                      ///< (layers + 1) × tokens; invalid where they are not known
    tensor::Tensor heads;                       ///< layers × tokens × heads; the same
    std::vector<trace::TextLink> links;         ///< of attentions, where they were asked for
    std::map<std::size_t, tensor::Tensor> maps; ///< by layer, where they were: heads × queries × keys
};

/// The same with `count` more tokens in front, of which the layers say nothing.
[[nodiscard]] LayerParts behindTokens(const LayerParts& parts, std::size_t count);

/// A word that the text went on with, and the relevance of the tokens before it.
struct GeneratedStep
{
    ScoredToken token;
    std::int64_t position = 0; ///< of the token at which it was asked for
    std::vector<double> relevance;
    ScoredToken best{};
    double started = 0;
    std::map<std::string, double> losses{}; ///< by cause
    LayerParts parts{};
};

/// The question at one position of several.
struct PositionAnswer : GeneratedStep
{
    std::vector<ScoredToken> contrast;
    double score = 0; ///< of the target, less the mean of the contrast
};

/// Another question about the same position, for comparing.
struct OtherAnswer
{
    std::string title;
    std::vector<double> relevance; ///< per token
};

/// What an explanation of a text says, for people and files.
struct LanguageReport : LayerParts
{
    std::string model;
    std::string text;                  ///< as it was given; empty for numbers
    std::vector<LanguageToken> tokens; ///< of the explained text; in front of them those that an encoder reads
    std::size_t source = 0;            ///< how many of them are those
    std::size_t padding = 0;           ///< how many of them at the end fill an input of fixed length up
    std::vector<std::string> inputs;   ///< names of the inputs of these texts, in their order
    std::vector<double> relevance;     ///< per token
    std::string composite;
    std::string scored = "word"; ///< what the scores are of
    std::int64_t position = -1; ///< of the explained token, without those of `source`; -1 = it is no word at a position
    std::string otherTarget;    ///< then: which
    ScoredToken target;
    std::vector<ScoredToken> contrast;
    ScoredToken best;
    double score = 0; ///< of the target, less the mean of the contrast
    double started = 0;
    double reached = 0;                    ///< Σ over the tokens
    std::map<std::string, double> losses;  ///< by cause
    std::vector<base::ValueId> streams;    ///< per row of `layers`: the value in the graph that ran
    std::vector<base::ValueId> headValues; ///< per layer: the mixed values
    std::string note;                      ///< what is not there, and why; empty = nothing is missing
    std::vector<GeneratedStep> generated;
    std::vector<LanguageToken> generatedTokens; ///< behind those of the text
    std::vector<PositionAnswer> positions;      ///< of --positions, as asked; the first is the question itself
    std::vector<OtherAnswer> others;

    /// Shares of the tokens in Σ |R|; 0 where all are 0.
    [[nodiscard]] std::vector<double> shares() const;
    /// Tokens without those that fill an input up.
    [[nodiscard]] std::size_t shown() const { return tokens.size() - padding; }
    /// The number of a token in its own text.
    [[nodiscard]] std::size_t placeOf(std::size_t token) const { return token < source ? token : token - source; }
};

/// Lines for a terminal: the target, where relevance went, the tokens with bars.
[[nodiscard]] std::vector<std::string> reportLines(const LanguageReport& report);
/// tokens.json.
[[nodiscard]] nlohmann::ordered_json reportJson(const LanguageReport& report);
/// tokens.csv.
[[nodiscard]] std::string tokensCsv(const LanguageReport& report);

/// links.csv: step (row of generation.csv or positions.csv; none = the question), layer, head, both tokens, relevance;
/// without links the heading alone.
[[nodiscard]] std::string linksCsv(const LanguageReport& report);

/// Writes tokens.csv, tokens.json, and what is there of layers.npy, layers.csv, heads.npy, generation.csv,
/// generation.npy, positions.csv, positions.npy, links.csv, attention/<layer>.npy into a folder. Errors: Output.
[[nodiscard]] base::Result<void> writeReport(const std::filesystem::path& folder, const LanguageReport& report);

/// The same for views and run files.
[[nodiscard]] trace::RunText runText(const LanguageReport& report);
/// What is recorded of a text, as it was when the run was recorded.
[[nodiscard]] LanguageReport reportOf(const trace::RunText& text, const trace::Run& run);

/// What a recorded run of a text says, after `position` events (none = at its end). Errors (Input): it is of no text,
/// no relevance has reached the tokens.
[[nodiscard]] base::Result<LanguageReport> reportOf(const trace::Run& run,
                                                    std::optional<std::uint64_t> position = std::nullopt);

} // namespace retro::engine
