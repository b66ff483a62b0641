// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/explain/explain.h"
#include "core/engine/language/languagemodel.h"
#include "core/engine/model/loadmodel.h"

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// A word that a forward pass found to be the best one, and its score.
struct ChosenWord
{
    std::int64_t id = 0;
    double score = 0;
};

/// Goes on with a text by the caches of its model: what a pass gives as present keys and values is the past of the next
/// one, which reads a single token.
class CachedWords
{
public:
    /// None where an input is no token, mask, position or past, or where a past is not known to come back as an output.
    [[nodiscard]] static std::optional<CachedWords> of(const LoadedModel& model, const LanguageModel& language);

    /// The best words behind `tokens` of a text without a past, one after the other, `count` of them; fewer where a
    /// pass does not give what the next one reads. `outputs` are those of a pass over the text, by graph output; where
    /// they are not there, one is made from `inputs`. Errors: as runForward().
    [[nodiscard]] base::Result<std::vector<ChosenWord>> choose(std::span<const tensor::Tensor> outputs,
                                                               const std::vector<tensor::Tensor>& inputs,
                                                               std::size_t count, execute::Precision precision,
                                                               const std::stop_token& stop) const;

private:
    struct Cache
    {
        std::size_t input = 0;  ///< the past, among the graph's inputs
        std::size_t output = 0; ///< what comes back for it, among its outputs
        bool isSliding = false; ///< it keeps the newest rows alone
    };
    CachedWords(const LoadedModel& model, const LanguageModel& language) : m_model(model), m_language(language) {}

    [[nodiscard]] bool findCaches();
    /// Number of the output to which the past leads; none where it is not known.
    [[nodiscard]] std::optional<std::size_t> presentOf(base::ValueId past) const;
    [[nodiscard]] std::optional<std::size_t> outputOf(base::ValueId value) const;
    [[nodiscard]] bool isSliding(base::ValueId past) const;
    /// Inputs for one token behind `before` others; none where something is missing.
    [[nodiscard]] std::optional<std::vector<tensor::Tensor>> next(std::span<const tensor::Tensor> outputs,
                                                                  std::int64_t word, std::int64_t before) const;
    /// Whether a pass gave the scores behind the last of `tokens` tokens, and caches of them all.
    [[nodiscard]] bool hasCaches(std::span<const tensor::Tensor> outputs, std::int64_t tokens) const;

    /// By graph output; nothing where some of the model cannot run.
    [[nodiscard]] base::Result<std::vector<tensor::Tensor>> outputsOf(const std::vector<tensor::Tensor>& inputs,
                                                                      execute::Precision precision,
                                                                      const std::stop_token& stop) const;

    const LoadedModel& m_model;
    const LanguageModel& m_language;
    std::size_t m_scores = 0; ///< among the graph's outputs
    std::vector<Cache> m_caches;
};

} // namespace retro::engine
