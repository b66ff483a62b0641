// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/attributes.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// The elements of a floating constant as double, row-major.
Tensor asDouble(const graph::Value& value) { return value.constant.to(DType::Float64).contiguous(); }

/// What a BatchNormalization does to channel c: y = factor[c]·x + shift[c].
struct Affine
{
    std::vector<double> factor;
    std::vector<double> mean;
    std::vector<double> beta;
    [[nodiscard]] double shiftOf(double bias, std::size_t c) const { return (bias - mean[c]) * factor[c] + beta[c]; }
};

/// A weight as rows × channels × inner, where a row of group i has channels i·channels … of the result.
struct WeightView
{
    std::int64_t rows = 1;
    std::int64_t channels = 1; ///< per group
    std::int64_t inner = 1;
    std::int64_t groups = 1;
    [[nodiscard]] std::int64_t allChannels() const { return channels * groups; }
};

/// A linear node that a BatchNormalization can be merged into.
struct Target
{
    NodeId node;
    WeightView view;
    double biasScale = 1; ///< beta of a Gemm
};

bool isFloatingConstant(const Draft& draft, const Node& node, std::size_t slot)
{
    return slot < node.inputs.size() && draft.isConstant(node.inputs[slot]) &&
           tensor::isFloating(draft.value(node.inputs[slot]).constant.dtype());
}

bool hasOperand(const Node& node, std::size_t slot) { return slot < node.inputs.size() && node.inputs[slot].isValid(); }

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

std::int64_t product(const tensor::Shape& shape, std::size_t from)
{
    std::int64_t n = 1;
    for (std::size_t i = from; i < shape.size(); ++i) {
        n *= shape[i];
    }
    return n;
}

std::optional<WeightView> viewOfConv(const Node&, const tensor::Shape& w)
{
    return w.size() < 3 ? std::nullopt : std::optional(WeightView{1, w[0], product(w, 1), 1});
}

std::optional<WeightView> viewOfConvTranspose(const Node& node, const tensor::Shape& w)
{
    const std::int64_t groups = intAttribute(node, "group", 1);
    if (w.size() < 3 || groups < 1 || w[0] % groups != 0) {
        return std::nullopt;
    }
    return WeightView{w[0], w[1], product(w, 2), groups};
}

std::optional<WeightView> viewOfGemm(const Node& node, const tensor::Shape& w)
{
    if (w.size() != 2) {
        return std::nullopt;
    }
    return intAttribute(node, "transB", 0) != 0 ? WeightView{1, w[0], w[1], 1} : WeightView{w[0], w[1], 1, 1};
}

struct Family
{
    std::string_view op;
    std::optional<WeightView> (*view)(const Node&, const tensor::Shape&);
};

constexpr Family kFamilies[] = {{"Conv", viewOfConv}, {"ConvTranspose", viewOfConvTranspose}, {"Gemm", viewOfGemm}};

/// None, or one number per channel, or (Gemm) one number for all.
bool isMergeableBias(const Draft& draft, const Node& node, std::int64_t channels)
{
    if (!hasOperand(node, 2)) {
        return true;
    }
    if (!isFloatingConstant(draft, node, 2)) {
        return false;
    }
    const tensor::Shape& shape = draft.value(node.inputs[2]).constant.shape();
    const std::int64_t last = shape.empty() ? 1 : shape.back();
    const bool isVector = tensor::elementCount(shape) == last;
    return isVector && (last == channels || (node.op == "Gemm" && last == 1));
}

/// The node before a BatchNormalization, if that can take it in.
std::optional<Target> targetOf(const Draft& draft, const Node& norm, std::size_t channels)
{
    const ValueId between = norm.inputs[0];
    if (!between.isValid() || draft.readerCount(between) != 1 || draft.isOutput(between)) {
        return std::nullopt;
    }
    const NodeId id = draft.value(between).producer;
    if (!id.isValid() || draft.node(id).outputs.size() != 1 || !draft.node(id).domain.empty()) {
        return std::nullopt;
    }
    const Node& node = draft.node(id);
    const auto* family = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                      [&](const Family& known) { return known.op == node.op; });
    if (family == std::end(kFamilies) || !isFloatingConstant(draft, node, 1)) {
        return std::nullopt;
    }
    const std::optional<WeightView> view = family->view(node, draft.value(node.inputs[1]).constant.shape());
    if (!view || view->allChannels() != static_cast<std::int64_t>(channels) ||
        !isMergeableBias(draft, node, view->allChannels())) {
        return std::nullopt;
    }
    return Target{id, *view, node.op == "Gemm" ? floatAttribute(node, "beta", 1) : 1};
}

Tensor scaledWeight(const Tensor& weight, const WeightView& view, const Affine& affine)
{
    tensor::TensorBuffer buffer(DType::Float64, weight.shape());
    const std::span<const double> in = weight.span<double>();
    const std::span<double> out = buffer.span<double>();
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto position = static_cast<std::int64_t>(i);
        const std::int64_t row = position / (view.inner * view.channels);
        const std::int64_t group = row / (view.rows / view.groups);
        const std::int64_t channel = group * view.channels + position / view.inner % view.channels;
        out[i] = in[i] * affine.factor[static_cast<std::size_t>(channel)];
    }
    return std::move(buffer).freeze();
}

Tensor mergedBias(const Draft& draft, const Target& target, const Affine& affine)
{
    const Node& node = draft.node(target.node);
    const Tensor bias =
        hasOperand(node, 2) ? asDouble(draft.value(node.inputs[2])) : Tensor::zeros(DType::Float64, {1});
    const double* values = bias.data<double>();
    const std::size_t step = bias.size() == 1 ? 0 : 1;
    tensor::TensorBuffer buffer(DType::Float64, {target.view.allChannels()});
    const std::span<double> out = buffer.span<double>();
    for (std::size_t c = 0; c < out.size(); ++c) {
        out[c] = affine.shiftOf(target.biasScale * values[c * step], c);
    }
    return std::move(buffer).freeze();
}

void merge(Draft& draft, const Target& target, const Affine& affine, NodeId normId)
{
    Node node = draft.node(target.node);
    const Node& norm = draft.node(normId);
    const graph::Value& weight = draft.value(node.inputs[1]);
    const std::string weightName = weight.name + ".merged";
    const std::string biasName = draft.value(hasOperand(node, 2) ? node.inputs[2] : norm.inputs[2]).name + ".merged";
    const DType declared = weight.dtype;
    Tensor scaled = scaledWeight(asDouble(weight), target.view, affine);
    Tensor bias = mergedBias(draft, target, affine);
    const ValueId weightId = draft.addConstant(weightName, std::move(scaled), declared);
    const ValueId biasId = draft.addConstant(biasName, std::move(bias), declared);
    node.inputs = {node.inputs[0], weightId, biasId};
    node.outputs = {norm.outputs[0]};
    if (target.biasScale != 1) {
        node.attributes["beta"] = 1.0;
    }
    const std::array members{target.node, normId};
    draft.fuse(target.node, std::move(node), members);
}

} // namespace

void mergeBatchNorm(Draft& draft, std::vector<RewriteStep>& steps)
{
    for (std::size_t i = 0; i < draft.nodeCount(); ++i) {
        const NodeId id(i);
        const Node& norm = draft.node(id);
        if (draft.isRemoved(id) || norm.op != "BatchNormalization" || !norm.domain.empty()) {
            continue;
        }
        const std::optional<Affine> affine = affineOf(draft, norm);
        const std::optional<Target> target = affine ? targetOf(draft, norm, affine->factor.size()) : std::nullopt;
        if (!target) {
            continue;
        }
        const Node& node = draft.node(target->node);
        RewriteStep step;
        step.rewrite = "merge BatchNorm";
        step.text = fmt::format("{} + {} → {} {}", node.name, norm.name, node.op, node.name);
        step.removed = {node.name, norm.name};
        step.added = {node.name};
        steps.push_back(std::move(step));
        merge(draft, *target, *affine, id);
    }
}

} // namespace retro::rewrite
