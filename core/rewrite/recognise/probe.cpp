// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/recognise/probe.h"

#include "core/ops/kernel/slices.h"
#include "core/ops/registry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace retro::rewrite
{

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace
{

constexpr std::size_t kAbsent = std::numeric_limits<std::size_t>::max();

/// The first element as a tensor without axes.
Tensor firstElement(const Tensor& data) { return {data.dtype(), {}, {}, data.offset(), data.storage()}; }

Tensor wide(const Tensor& data) { return tensor::isFloating(data.dtype()) ? data.to(DType::Float64) : data; }

} // namespace

std::size_t Probe::addValue(const Tensor& data)
{
    m_values.push_back(data);
    m_types.push_back({data.dtype(), data.shape()});
    return m_values.size() - 1;
}

bool Probe::add(const graph::Graph& graph, NodeId id, const graph::Node& node, std::vector<std::size_t> operands)
{
    std::vector<ops::TensorType> types(operands.size());
    std::vector<Tensor> constants(operands.size());
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        if (operands[slot] != kAbsent) {
            types[slot] = m_types[operands[slot]];
            constants[slot] = m_values[operands[slot]];
        }
    }
    auto bound = ops::bind({graph, id, node, types, constants, DType::Float64});
    if (!bound.ok()) {
        return false;
    }
    m_values.emplace_back();
    m_types.push_back((*bound)->outputTypes()[0]);
    m_steps.emplace_back(m_values.size() - 1, Step{std::move(bound).value(), std::move(operands)});
    return true;
}

std::optional<Probe> Probe::of(const Cone& cone, const Shape& shape, bool areNumbers)
{
    const Draft& draft = cone.draft();
    Probe probe;
    probe.m_values.emplace_back();
    probe.m_types.push_back({DType::Float64, shape});
    std::map<std::size_t, std::size_t> places{{cone.leaf().index(), 0}};
    for (const ValueId constant : cone.constants()) {
        const Tensor& data = draft.value(constant).constant;
        const bool isNumber = areNumbers && uniformNumber(draft, constant);
        places[constant.index()] = probe.addValue(wide(isNumber     ? firstElement(data)
                                                       : areNumbers ? data
                                                                    : cutTo(shape, data))
                                                      .contiguous());
    }
    for (const NodeId member : cone.members()) {
        const graph::Node& node = draft.node(member);
        std::vector<std::size_t> operands;
        for (const ValueId input : node.inputs) {
            operands.push_back(input.isValid() ? places.at(input.index()) : kAbsent);
        }
        if (!probe.add(draft.before(), member, node, std::move(operands))) {
            return std::nullopt;
        }
        places[node.outputs[0].index()] = probe.m_values.size() - 1;
    }
    return probe;
}

std::optional<Probe> Probe::of(const graph::Graph& graph, const KnownOperator& known, const Shape& shape)
{
    Probe probe;
    probe.m_values.emplace_back();
    probe.m_types.push_back({DType::Float64, shape});
    graph::Node node;
    node.op = known.op;
    node.name = known.op;
    node.opset = known.opset;
    node.attributes = known.attributes;
    std::vector<std::size_t> operands{0};
    for (const Tensor& parameter : known.parameters) {
        operands.push_back(probe.addValue(parameter));
    }
    const ValueId nameless(graph.valueCount()); // present, whatever it is called
    node.inputs.assign(operands.size(), nameless);
    node.outputs = {nameless};
    const bool isBound = probe.add(graph, NodeId(graph.nodeCount()), node, std::move(operands));
    return isBound ? std::optional(std::move(probe)) : std::nullopt;
}

Tensor Probe::operator()(const Tensor& x) const
{
    std::vector<Tensor> values = m_values;
    values[0] = x;
    for (const auto& [place, step] : m_steps) {
        std::vector<Tensor> operands(step.operands.size());
        for (std::size_t slot = 0; slot < operands.size(); ++slot) {
            operands[slot] = step.operands[slot] == kAbsent ? Tensor() : values[step.operands[slot]];
        }
        values[place] = step.op->forward(operands)[0];
    }
    return values.back().to(DType::Float64).contiguous();
}

Tensor cutTo(const Shape& shape, Tensor data)
{
    for (std::size_t i = 0; i < data.rank() && data.rank() <= shape.size() && tensor::isFloating(data.dtype()); ++i) {
        const std::int64_t extent = shape[shape.size() - data.rank() + i];
        if (data.shape()[i] > extent) {
            data = ops::slice(data, i, 0, extent);
        }
    }
    return data;
}

Tensor scattered(const Shape& shape, unsigned seed)
{
    std::mt19937 random(seed);
    tensor::TensorBuffer buffer(DType::Float64, shape);
    for (double& element : buffer.span<double>()) {
        element = 4.0 * (static_cast<double>(random()) / 4294967296.0 - 0.45);
    }
    return std::move(buffer).freeze();
}

Tensor scaled(const Tensor& x, double factor)
{
    tensor::TensorBuffer buffer(DType::Float64, x.shape());
    std::ranges::transform(x.span<double>(), buffer.span<double>().begin(), [=](double v) { return v * factor; });
    return std::move(buffer).freeze();
}

double distance(const Tensor& a, const Tensor& b)
{
    double largest = a.shape() == b.shape() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; largest < 1 && i < a.span<double>().size(); ++i) {
        const double own = a.span<double>()[i];
        const double other = b.span<double>()[i];
        const double gap = std::abs(own - other) / std::max(std::abs(other), 1.0);
        largest = gap <= largest ? largest : (gap == gap ? gap : std::numeric_limits<double>::infinity());
    }
    return largest;
}

} // namespace retro::rewrite
