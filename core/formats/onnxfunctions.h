// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/inlinedfunction.h"

#include <stop_token>

namespace retro::onnxschema
{
class ModelProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// Functions may call functions this deep.
inline constexpr int kMaxFunctionDepth = 64;

/// Replaces every call of a function that the model defines (by domain, name and overload), and of the operators that
/// knownFunctions() lists, by the function's nodes, also inside nested graphs. Inner values and nodes get the call's
/// name in front; the call becomes their scope unless they say theirs; each node keeps the operator-set version that
/// its function imports. Errors (Input), naming the node: functions that call themselves or deeper than
/// kMaxFunctionDepth, more nodes or bytes in all than onnxexpansion.h allows, names that are not UTF-8. Cancelled after
/// a requested stop. `inlined` takes the functions that were called from the graph or a graph inside its nodes; those
/// that functions call belong to these.
[[nodiscard]] base::Result<void> inlineFunctions(onnxschema::ModelProto& model, const std::stop_token& stop,
                                                 std::vector<InlinedFunction>* inlined = nullptr);

} // namespace retro::formats
