// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

namespace retro::trace
{

/// Relevance of a value as the composite means it, of the tensor that the run holds for it: at an input of gradient ×
/// input the gradient times the input, where that was kept; else the tensor itself.
[[nodiscard]] tensor::Tensor meantRelevance(const Run& run, ValueId value, const tensor::Tensor& held);

/// True of the inputs of gradient × input whose data was kept: their relevance is not what the run holds for them.
[[nodiscard]] bool isProduct(const Run& run, ValueId value);

/// What flows in a run: "gradient", "relevance".
[[nodiscard]] std::string_view flowWord(const Run& run);

/// Its sum, of the relevance behind a handle; 0 where there is none. Also where the tensor was not kept: then the sum
/// of what the run held.
[[nodiscard]] double meantSum(const Run& run, ValueId value, HandleId handle);

/// meantSum() of an output of a node.
[[nodiscard]] double meantSum(const Run& run, NodeId node, std::size_t output, HandleId handle);

/// The sum that an event tells of its tensor: meantSum() where the relevance of a value is known in full, else the sum
/// of the tensor. The handle of the event must be one of the run.
[[nodiscard]] double sumIn(const Run& run, const Event& event);

} // namespace retro::trace
