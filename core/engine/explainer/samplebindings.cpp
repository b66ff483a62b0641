// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/samplebindings.h"

#include "core/engine/explainer/followingconstants.h"

#include <algorithm>
#include <string>
#include <utility>

namespace retro::engine
{

using base::Result;

namespace
{

/// What a rule wrote for one number of samples.
struct WrittenGraph
{
    graph::Graph graph;
    std::vector<graph::ValueId> results; ///< invalid where there is none
};

Result<WrittenGraph> writtenFor(const execute::BoundModel& model, const RelevanceSteps& like, std::int64_t opset,
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
    WrittenGraph written;
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

namespace
{

/// Writes the constants of three graphs that differ in the number of samples alone, which is `extents`: as constants or
/// by `count`. False where one follows no law.
bool copyConstants(RelevanceSteps& steps, const std::function<ValueId()>& count, const ThreeExtents& extents,
                   const std::array<const graph::Graph*, 3>& graphs, std::vector<ValueId>& copy)
{
    for (std::size_t i = 0; i < copy.size(); ++i) {
        const graph::ValueId id(i);
        if (graphs[0]->value(id).kind != graph::ValueKind::Constant) {
            continue;
        }
        const std::array seen{&graphs[0]->value(id).constant, &graphs[1]->value(id).constant,
                              &graphs[2]->value(id).constant};
        const bool isOne = seen[0]->bitEqual(*seen[1]) && seen[0]->bitEqual(*seen[2]);
        copy[i] = isOne ? steps.emitter().constant(*seen[0]) : constantFollowing(steps, count, extents, seen);
        if (!copy[i].isValid()) {
            return false;
        }
    }
    return true;
}

} // namespace

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

Result<std::vector<ValueId>> SampleBindings::write(RelevanceSteps& steps, const std::vector<ValueId>& operands,
                                                   const std::vector<tensor::DType>& types, const Write& write)
{
    RETRO_CHECK(bind());
    const std::int64_t opset = steps.emitter().opset();
    RETRO_TRY(const WrittenGraph written, writtenFor(m_model, steps, opset, types, write));
    RETRO_TRY(const WrittenGraph second, writtenFor(*m_more[0], steps, opset, types, write));
    RETRO_TRY(const WrittenGraph third, writtenFor(*m_more[1], steps, opset, types, write));
    if (!areSameNodes(written.graph, second.graph) || !areSameNodes(written.graph, third.graph)) {
        return std::vector<ValueId>();
    }
    std::vector<ValueId> copy(written.graph.valueCount());
    for (std::size_t i = 0; i < operands.size(); ++i) {
        copy[written.graph.inputs()[i].index()] = operands[i];
    }
    const std::array graphs{&written.graph, &second.graph, &third.graph};
    if (!copyConstants(
            steps, [&] { return count(steps); }, {2, kMore[0], kMore[1]}, graphs, copy)) {
        return std::vector<ValueId>();
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
