// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"
#include "core/tensor/tensor.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace retro::trace
{

/// A token as people read it.
struct TextToken
{
    std::int64_t id = 0;
    std::string text;
    std::optional<std::array<std::int64_t, 2>> place; ///< first character in the text and the one behind the last
    bool operator==(const TextToken&) const = default;
};

/// A word of the vocabulary with its score at the explained position.
struct TextWord
{
    std::int64_t id = 0;
    std::string text; ///< empty where nobody knows words
    double score = 0;
    bool operator==(const TextWord&) const = default;
};

/// Relevance that one head of one attention handed from the token that asked (the query) to another one (the key).
struct TextLink
{
    std::int32_t layer = 0;
    std::int32_t head = 0;
    std::int32_t query = 0;
    std::int32_t key = 0;
    double relevance = 0;
    bool operator==(const TextLink&) const = default;
};

/// An explained position of a text, and what came of it.
struct TextStep
{
    std::int64_t position = -1; ///< of the token at which the next word was asked for
    TextWord target;
    TextWord best;
    std::vector<TextWord> contrast;
    double score = 0; ///< of the target, less the mean of the contrast
    double started = 0;
    double reached = 0;                   ///< Σ over the tokens
    std::map<std::string, double> losses; ///< by cause; empty where they are not known
    std::vector<double> relevance;        ///< per token, the first ones of RunText::tokens
    tensor::Tensor layers;       ///< float64, (layers + 1) × tokens: of what enters each layer; may be invalid
    tensor::Tensor heads;        ///< float64, layers × tokens × heads: of the mixed values; may be invalid
    std::vector<TextLink> links; ///< by layer, in a layer the largest first; of many the largest alone

    /// Number of layers that are known; 0 where none are.
    [[nodiscard]] std::int64_t layerCount() const { return layers.isValid() ? layers.shape()[0] - 1 : 0; }
    /// Number of heads of the layers; 0 where they are not known.
    [[nodiscard]] std::int64_t headCount() const { return heads.isValid() ? heads.shape()[2] : 0; }
};

/// The text of a run: its tokens, and every position of it that was explained. Kept in the run file beside the run.
struct RunText
{
    // Limits of a run file; whoever fills this keeps to them.
    static constexpr std::size_t kMostTokens = 1U << 20;
    static constexpr std::size_t kMostSteps = 4097;
    static constexpr std::size_t kMostTokenBytes = 4096;

    std::string text;                   ///< as it was given; empty for numbers
    std::vector<TextToken> tokens;      ///< of the text, then those that it went on with
    std::size_t given = 0;              ///< how many of them are of the text
    std::size_t source = 0;             ///< how many of those, the first, an encoder reads; steps are at the others
    std::vector<base::ValueId> streams; ///< per row of TextStep::layers: the value in the run's graph
    std::vector<base::ValueId> heads;   ///< per layer: the mixed values
    std::vector<TextStep> steps;        ///< the question of the run, then one per generated token, then other positions
    std::string note;                   ///< what of it is not there, and why; empty = nothing is missing

    /// Position of the token that step `step` explains among `tokens`; none for the question and for other positions of
    /// the text, which stand behind those steps.
    [[nodiscard]] std::optional<std::size_t> tokenOf(std::size_t step) const
    {
        const std::size_t at = given + step - 1;
        return step > 0 && at < tokens.size() ? std::optional(at) : std::nullopt;
    }
};

} // namespace retro::trace
