// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/attributes.h"
#include "core/rewrite/batchnormaffine.h"
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
struct LayerBefore
{
    NodeId node;
    WeightView view;
    double biasScale = 1; ///< beta of a Gemm
};

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

/// The node before a BatchNormalization, if that can take it in.
std::optional<LayerBefore> targetOf(const Draft& draft, const Node& norm, std::size_t channels)
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
    return LayerBefore{id, *view, node.op == "Gemm" ? floatAttribute(node, "beta", 1) : 1};
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

Tensor mergedBias(const Draft& draft, const LayerBefore& target, const Affine& affine)
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

void merge(Draft& draft, const LayerBefore& target, const Affine& affine, NodeId normId)
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
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        const NodeId id(i);
        const Node& norm = draft.node(id);
        if (draft.isRemoved(id) || norm.op != "BatchNormalization" || !norm.domain.empty()) {
            continue;
        }
        const std::optional<Affine> affine = affineOf(draft, norm);
        const std::optional<LayerBefore> target = affine ? targetOf(draft, norm, affine->factor.size()) : std::nullopt;
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
