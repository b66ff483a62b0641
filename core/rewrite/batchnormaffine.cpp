// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/batchnormaffine.h"

#include "core/graph/attributes.h"

#include <algorithm>
#include <cmath>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Tensor;

Tensor asDouble(const graph::Value& value) { return value.constant.to(DType::Float64).contiguous(); }

bool isFloatingConstant(const Draft& draft, const Node& node, std::size_t slot)
{
    return slot < node.inputs.size() && draft.isConstant(node.inputs[slot]) &&
           tensor::isFloating(draft.value(node.inputs[slot]).constant.dtype());
}

bool hasOperand(const Node& node, std::size_t slot) { return slot < node.inputs.size() && node.inputs[slot].isValid(); }

bool Affine::isShiftFree() const
{
    for (std::size_t c = 0; c < channels(); ++c) {
        if (shiftOf(0, c) != 0) {
            return false;
        }
    }
    return true;
}

bool Affine::isFactorFree() const
{
    return std::ranges::all_of(factor, [](double f) { return f == 1; });
}

bool Affine::isFinite() const
{
    for (std::size_t c = 0; c < channels(); ++c) {
        if (!std::isfinite(factor[c]) || !std::isfinite(shiftOf(0, c))) {
            return false;
        }
    }
    return true;
}

namespace
{

/// Inference with one result per channel; BatchNormalization had other modes in older operator sets.
bool isPlainInference(const Node& node)
{
    const bool usesStoredStatistics = node.opset < 7    ? intAttribute(node, "is_test", 0) != 0
                                      : node.opset < 14 ? true
                                                        : intAttribute(node, "training_mode", 0) == 0;
    const bool isPerChannel = intAttribute(node, "spatial", 1) != 0;
    const auto isMissing = [](ValueId id) { return !id.isValid(); };
    return usesStoredStatistics && isPerChannel && node.inputs.size() == 5 && !node.outputs.empty() &&
           std::all_of(node.outputs.begin() + 1, node.outputs.end(), isMissing);
}

} // namespace

/// scale, B, mean, var as vectors of one length.
std::optional<Affine> affineOf(const Draft& draft, const Node& node)
{
    if (!isPlainInference(node)) {
        return std::nullopt;
    }
    std::vector<Tensor> parameters;
    for (std::size_t slot = 1; slot < 5; ++slot) {
        if (!isFloatingConstant(draft, node, slot)) {
            return std::nullopt;
        }
        parameters.push_back(asDouble(draft.value(node.inputs[slot])));
        if (parameters.back().rank() != 1 || parameters.back().size() != parameters.front().size()) {
            return std::nullopt;
        }
    }
    const auto valuesOf = [&](std::size_t i) {
        const std::span<const double> values = parameters[i].span<double>();
        return std::vector<double>(values.begin(), values.end());
    };
    Affine affine{valuesOf(0), valuesOf(2), valuesOf(1)};
    const std::vector<double> variance = valuesOf(3);
    const double epsilon = floatAttribute(node, "epsilon", 1e-5);
    for (std::size_t c = 0; c < variance.size(); ++c) {
        affine.factor[c] /= std::sqrt(variance[c] + epsilon);
        if (!std::isfinite(affine.factor[c])) {
            return std::nullopt;
        }
    }
    return affine;
}

} // namespace retro::rewrite
