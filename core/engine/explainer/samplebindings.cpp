// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/samplebindings.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace retro::engine
{

using base::Result;

namespace
{

/// What a rule wrote for one number of samples.
struct Written
{
    graph::Graph graph;
    std::vector<graph::ValueId> results; ///< invalid where there is none
};

Result<Written> writtenFor(const execute::BoundModel& model, const RelevanceSteps& like, std::int64_t opset,
                           const std::vector<tensor::DType>& types, const SampleBindings::Write& write)
{
    graph::GraphBuilder builder("part");
    builder.setOpset("", opset);
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < types.size(); ++i) {
        operands.push_back(builder.addInput("operand" + std::to_string(i), types[i], std::nullopt));
    }
    tape::Emitter emit(builder, opset, like.floatType(), "part");
    RETRO_TRY(const std::vector<ValueId> made, write(emit, model, operands));
    Written written;
    std::vector<std::string> names;
    for (const ValueId value : made) {
        if (value.isValid()) { // an output may be an operand or named twice
            const ValueId output = builder.addResult("result" + std::to_string(names.size()));
            emit.named("Identity", {value}, output);
            builder.addOutput(output);
        }
        names.push_back(value.isValid() ? "result" + std::to_string(names.size()) : "");
    }
    RETRO_TRY(written.graph, std::move(builder).build());
    for (const std::string& name : names) {
        written.results.push_back(name.empty() ? ValueId() : *written.graph.findValue(name));
    }
    return written;
}

bool isSame(const graph::Attribute& a, const graph::Attribute& b)
{
    const auto equal = [&b](const auto& one) {
        using Kind = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Kind, graph::Subgraph>) {
            return false;
        } else if constexpr (std::is_same_v<Kind, tensor::Tensor>) {
            return one.bitEqual(std::get<Kind>(b));
        } else {
            return one == std::get<Kind>(b);
        }
    };
    return a.index() == b.index() && std::visit(equal, a);
}

bool areSame(const graph::Attributes& a, const graph::Attributes& b)
{
    return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
        return one.first == other.first && isSame(one.second, other.second);
    });
}

bool areSameNodes(const graph::Graph& a, const graph::Graph& b)
{
    return a.valueCount() == b.valueCount() &&
           std::ranges::equal(a.nodes(), b.nodes(), [](const graph::Node& one, const graph::Node& other) {
               return one.op == other.op && one.inputs == other.inputs && one.outputs == other.outputs &&
                      areSame(one.attributes, other.attributes);
           });
}

/// a·N + b at 2, 3 and 5 samples.
struct Linear
{
    std::vector<std::int64_t> factors;
    std::vector<std::int64_t> offsets;
    bool isConfirmed = true;
};

template <class NumberAt>
Linear solved(std::size_t count, NumberAt numberAt)
{
    Linear found;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t factor = numberAt(1, i) - numberAt(0, i);
        const std::int64_t offset = numberAt(0, i) - 2 * factor;
        found.factors.push_back(factor);
        found.offsets.push_back(offset);
        found.isConfirmed = found.isConfirmed && numberAt(2, i) == 5 * factor + offset;
    }
    return found;
}

/// True where all elements are one number.
bool isFilled(const tensor::Tensor& tensor)
{
    for (std::int64_t i = 1; i < tensor.size(); ++i) {
        if (tensor.at(i) != tensor.at(0)) {
            return false;
        }
    }
    return tensor.size() > 0;
}

} // namespace

bool SampleBindings::apply(const graph::Graph& graph)
{
    bool isAny = false;
    for (const graph::ValueId input : graph.inputs()) {
        const auto& shape = graph.value(input).shape;
        for (std::size_t axis = 0; shape && axis < shape->size(); ++axis) {
            if (!(*shape)[axis].extent && axis != 0) {
                return false;
            }
            isAny = isAny || !(*shape)[axis].extent;
        }
    }
    return isAny;
}

Result<void> SampleBindings::bind()
{
    if (!m_more.empty()) {
        return {};
    }
    const graph::Graph& graph = m_model.graph();
    std::vector<std::shared_ptr<const execute::BoundModel>> more;
    for (const std::int64_t samples : kMore) {
        std::vector<ops::TensorType> types;
        for (const graph::ValueId input : graph.inputs()) {
            types.push_back(m_model.typeOf(input));
            const auto& shape = graph.value(input).shape;
            if (shape && !shape->empty() && !shape->front().extent) {
                types.back().shape.front() = samples;
            }
        }
        RETRO_TRY(auto bound, execute::BoundModel::bind(m_model.sharedGraph(), types, m_model.precision(), {}, m_stop));
        more.push_back(std::move(bound));
    }
    m_more = std::move(more);
    return {};
}

ValueId SampleBindings::count(RelevanceSteps& steps)
{
    if (!m_count.isValid()) {
        m_count = steps.op("Gather", {steps.shapeOf(m_samples), steps.ints({0})});
    }
    return m_count;
}

ValueId SampleBindings::following(RelevanceSteps& steps, const std::array<const tensor::Tensor*, 3>& seen)
{
    const tensor::Tensor& first = *seen[0];
    const auto computed = [&](const Linear& linear) {
        return steps.add(steps.op("Mul", {steps.ints(linear.factors), count(steps)}), steps.ints(linear.offsets));
    };
    const bool areWhole = first.dtype() == tensor::DType::Int64 && first.shape().size() < 2;
    if (areWhole && seen[1]->shape() == first.shape() && seen[2]->shape() == first.shape()) {
        const Linear linear = solved(static_cast<std::size_t>(first.size()), [&](std::size_t k, std::size_t i) {
            return static_cast<std::int64_t>(seen[k]->at(static_cast<std::int64_t>(i)));
        });
        if (!linear.isConfirmed) {
            return {};
        }
        const ValueId vector = computed(linear);
        return first.shape().empty() ? steps.op("Squeeze", {vector, steps.ints({0})}) : vector;
    }
    const std::size_t rank = first.shape().size();
    const bool areFilled = std::ranges::all_of(seen, [&](const tensor::Tensor* one) {
        return one->dtype() == steps.floatType() && one->shape().size() == rank && isFilled(*one) &&
               one->at(0) == first.at(0);
    });
    if (!areFilled) {
        return {};
    }
    const Linear linear = solved(rank, [&](std::size_t k, std::size_t axis) { return seen[k]->shape()[axis]; });
    return linear.isConfirmed ? steps.filled(computed(linear), first.at(0)) : ValueId();
}

Result<std::vector<ValueId>> SampleBindings::write(RelevanceSteps& steps, const std::vector<ValueId>& operands,
                                                   const std::vector<tensor::DType>& types, const Write& write)
{
    RETRO_CHECK(bind());
    const std::int64_t opset = steps.emitter().opset();
    RETRO_TRY(const Written written, writtenFor(m_model, steps, opset, types, write));
    RETRO_TRY(const Written second, writtenFor(*m_more[0], steps, opset, types, write));
    RETRO_TRY(const Written third, writtenFor(*m_more[1], steps, opset, types, write));
    if (!areSameNodes(written.graph, second.graph) || !areSameNodes(written.graph, third.graph)) {
        return std::vector<ValueId>();
    }
    std::vector<ValueId> copy(written.graph.valueCount());
    for (std::size_t i = 0; i < operands.size(); ++i) {
        copy[written.graph.inputs()[i].index()] = operands[i];
    }
    for (std::size_t i = 0; i < copy.size(); ++i) {
        const graph::ValueId id(i);
        if (written.graph.value(id).kind != graph::ValueKind::Constant) {
            continue;
        }
        const std::array seen{&written.graph.value(id).constant, &second.graph.value(id).constant,
                              &third.graph.value(id).constant};
        const bool isOne = seen[0]->bitEqual(*seen[1]) && seen[0]->bitEqual(*seen[2]);
        copy[i] = isOne ? steps.emitter().constant(*seen[0]) : following(steps, seen);
        if (!copy[i].isValid()) {
            return std::vector<ValueId>();
        }
    }
    const auto mapped = [&copy](ValueId value) { return value.isValid() ? copy[value.index()] : value; };
    for (const graph::Node& node : written.graph.nodes()) {
        std::vector<ValueId> inputs;
        std::ranges::transform(node.inputs, std::back_inserter(inputs), mapped);
        const std::vector<ValueId> made =
            steps.emitter().node(node.op, std::move(inputs), node.attributes, node.outputs.size());
        for (std::size_t k = 0; k < made.size(); ++k) {
            copy[node.outputs[k].index()] = made[k];
        }
    }
    std::vector<ValueId> results;
    std::ranges::transform(written.results, std::back_inserter(results), mapped);
    return results;
}

} // namespace retro::engine
