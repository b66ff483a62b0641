// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/target.h"
#include "core/engine/model/loadmodel.h"
#include "core/tape/model/modeltape.h"

#include <cstdint>
#include <stop_token>
#include <vector>

namespace retro::engine
{

/// A model's tape with the target on it.
struct TargetTape
{
    tape::ModelTape made;
    tape::Id target = 0;
    tensor::Tensor start;  ///< what a gradient starts from there
    ResolvedTarget chosen; ///< with its notes
};

/// Where gradients end: at floating inputs and embeddings, or also where computed whole numbers become floats (only
/// where the target depends on none of the former).
enum class FirstTracked : std::uint8_t { Inputs, FirstFloatsIfNeeded, FirstFloats };

/// The tape of a model for these inputs, with gradient rules that end at a requested stop. Errors: as bindModel(), a
/// target that is not there; Cancelled.
[[nodiscard]] base::Result<TargetTape> targetTape(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs,
                                                  const TargetRequest& target, execute::Precision precision,
                                                  const std::stop_token& stop,
                                                  FirstTracked first = FirstTracked::Inputs);

} // namespace retro::engine
