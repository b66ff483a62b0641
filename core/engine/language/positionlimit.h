// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/language/languagemodel.h"
#include "core/engine/model/loadmodel.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace retro::engine
{

/// How many positions a model of language knows, and by what.
struct PositionLimit
{
    std::int64_t count = 0;
    std::string source; ///< for people: "cos_cache of node \"attn_0\"", "max_position_embeddings of config.json"
};

/// The smallest of: rows of the caches of rotations, rows of a table of positions, and what genai_config.json or
/// config.json beside the model says. None where nothing tells.
[[nodiscard]] std::optional<PositionLimit> positionLimit(const LoadedModel& model);

/// Refuses a text, or steps behind it, that go beyond these positions; the message has both numbers. `inputs` per graph
/// input: positions or a mask among them say how many tokens stand in front of the text. Errors: Input (the text),
/// Usage (the steps).
[[nodiscard]] base::Result<void> checkPositions(const LoadedModel& model, const LanguageModel& language,
                                                std::span<const tensor::Tensor> inputs, std::int64_t steps);

} // namespace retro::engine
