// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/criticalsubgraph.h"

#include "core/analysis/opgraph.h"

#include <algorithm>
#include <ranges>
#include <unordered_set>

namespace retro::analysis
{

namespace
{

using Names = std::unordered_set<FlowName>;

/// What a walk overlooks: with Everything each operand passes, which tells an operator without any path from one whose
/// path is cut.
enum class Along : std::uint8_t { Gradients, Everything };

class Cone
{
public:
    Cone(const Flow& flow, Along along) : m_flow(flow), m_along(along) {}

    [[nodiscard]] const Names& names() const { return m_names; }
    [[nodiscard]] const std::vector<std::uint32_t>& hits() const { return m_hits; }

protected:
    [[nodiscard]] bool isStop(const FlowOperator& op) const { return m_along == Along::Gradients && op.isStop; }
    [[nodiscard]] bool carries(FlowName name) const
    {
        return m_along == Along::Everything || name >= m_flow.isIntegral.size() || m_flow.isIntegral[name] == 0;
    }
    [[nodiscard]] bool passes(const FlowOperator& op, std::size_t slot) const
    {
        const bool isOpen = slot >= op.passes.size() || op.passes[slot] != 0;
        return m_along == Along::Everything || (isOpen && carries(op.inputs[slot]));
    }
    [[nodiscard]] bool has(FlowName name) const { return m_names.contains(name); }
    /// True when the name is new.
    bool add(FlowName name) { return carries(name) && m_names.insert(name).second; }
    /// Adds `to` when `from` is there; true when it is new.
    bool link(FlowName from, FlowName to) { return has(from) && add(to); }

    const Flow& m_flow;
    Along m_along;
    Names m_names;
    std::vector<std::uint32_t> m_hits;
};

/// From outputs to what they depend on. Hits in reverse execution order.
class BackwardCone : public Cone
{
public:
    using Cone::Cone;

    void walk(std::span<const FlowName> outputs)
    {
        for (const FlowName output : outputs) {
            add(output);
        }
        walk(m_flow.operators);
    }

private:
    void walk(const std::vector<FlowOperator>& operators)
    {
        for (const FlowOperator& op : operators | std::views::reverse) {
            const bool isWanted = std::ranges::any_of(op.outputs, [this](FlowName name) { return has(name); });
            if (isWanted && !isStop(op)) {
                m_hits.push_back(op.id);
                enter(op);
            }
        }
    }

    void enter(const FlowOperator& op)
    {
        for (std::size_t slot = 0; slot < op.inputs.size(); ++slot) {
            if (passes(op, slot)) {
                add(op.inputs[slot]);
            }
        }
        for (const FlowRegion& region : op.regions | std::views::reverse) {
            for (std::size_t k = 0; k < std::min(region.results.size(), op.outputs.size()); ++k) {
                link(op.outputs[k], region.results[k]);
            }
            walk(region.operators);
        }
        if (op.loop) {
            enterLoop(*op.loop);
        }
    }

    void enterLoop(const FlowLoop& loop)
    {
        for (const FlowCarried& carried : loop.carried) {
            link(carried.result, carried.bodyResult);
        }
        for (const FlowSlices& scan : loop.scanResults) {
            link(scan.outside, scan.inside);
        }
        // Names only grow, so the hits of the last round hold those of all rounds.
        const std::size_t before = m_hits.size();
        for (bool isChanged = true; isChanged;) {
            m_hits.resize(before);
            walk(loop.body);
            isChanged = handOver(loop);
        }
        for (const FlowCarried& carried : loop.carried) {
            link(carried.bodyInput, carried.initial);
        }
        for (const FlowSlices& scan : loop.scanInputs) {
            link(scan.inside, scan.outside);
        }
    }

    /// What an iteration wants is what the one before has to give.
    bool handOver(const FlowLoop& loop)
    {
        bool isChanged = false;
        for (const FlowCarried& carried : loop.carried) {
            isChanged = link(carried.bodyInput, carried.bodyResult) || isChanged;
        }
        return isChanged;
    }
};

/// From inputs to what depends on them.
class ForwardCone : public Cone
{
public:
    using Cone::Cone;

    void walk(std::span<const FlowName> inputs)
    {
        for (const FlowName input : inputs) {
            add(input);
        }
        walk(m_flow.operators);
    }

private:
    void walk(const std::vector<FlowOperator>& operators)
    {
        for (const FlowOperator& op : operators) {
            if (!isStop(op) && reaches(op)) {
                m_hits.push_back(op.id);
            }
        }
    }

    bool reaches(const FlowOperator& op)
    {
        if (!op.regions.empty()) {
            return reachesThroughRegions(op);
        }
        if (op.loop) {
            return reachesThroughLoop(*op.loop);
        }
        bool isReached = false;
        for (std::size_t slot = 0; slot < op.inputs.size() && !isReached; ++slot) {
            isReached = passes(op, slot) && has(op.inputs[slot]);
        }
        for (const FlowName output : op.outputs) {
            if (isReached) {
                add(output);
            }
        }
        return isReached;
    }

    bool reachesThroughRegions(const FlowOperator& op)
    {
        bool isReached = false;
        for (const FlowRegion& region : op.regions) {
            walk(region.operators);
            for (std::size_t k = 0; k < std::min(region.results.size(), op.outputs.size()); ++k) {
                if (has(region.results[k])) {
                    add(op.outputs[k]);
                    isReached = true;
                }
            }
        }
        return isReached;
    }

    bool reachesThroughLoop(const FlowLoop& loop)
    {
        for (const FlowSlices& scan : loop.scanInputs) {
            link(scan.outside, scan.inside);
        }
        const std::size_t before = m_hits.size();
        for (bool isChanged = true; isChanged;) {
            m_hits.resize(before);
            isChanged = handOver(loop);
            walk(loop.body);
            isChanged = handOver(loop) || isChanged;
        }
        return handOut(loop);
    }

    /// True when a result of the loop is reached.
    bool handOut(const FlowLoop& loop)
    {
        bool isReached = false;
        for (const FlowCarried& carried : loop.carried) {
            link(carried.bodyResult, carried.result);
            link(carried.initial, carried.result);
            isReached = isReached || has(carried.result);
        }
        for (const FlowSlices& scan : loop.scanResults) {
            link(scan.inside, scan.outside);
            isReached = isReached || has(scan.outside);
        }
        return isReached;
    }

    bool handOver(const FlowLoop& loop)
    {
        bool isChanged = false;
        for (const FlowCarried& carried : loop.carried) {
            isChanged = link(carried.initial, carried.bodyInput) || isChanged;
            isChanged = link(carried.bodyResult, carried.bodyInput) || isChanged;
        }
        return isChanged;
    }
};

void collect(const std::vector<FlowOperator>& operators, std::vector<const FlowOperator*>& all)
{
    for (const FlowOperator& op : operators) {
        all.push_back(&op);
        for (const FlowRegion& region : op.regions) {
            collect(region.operators, all);
        }
        if (op.loop) {
            collect(op.loop->body, all);
        }
    }
}

/// Names that stand in the outermost graph.
Names outerNames(const Flow& flow, std::span<const FlowName> outputs, std::span<const FlowName> inputs)
{
    Names outer(inputs.begin(), inputs.end());
    outer.insert(outputs.begin(), outputs.end());
    for (const FlowOperator& op : flow.operators) {
        outer.insert(op.inputs.begin(), op.inputs.end());
        outer.insert(op.outputs.begin(), op.outputs.end());
        for (const FlowCarried& carried : op.loop ? op.loop->carried : std::vector<FlowCarried>()) {
            outer.insert({carried.initial, carried.result});
        }
    }
    return outer;
}

using Ids = std::unordered_set<std::uint32_t>;

Ids setOf(const std::vector<std::uint32_t>& ids) { return {ids.begin(), ids.end()}; }

/// The four walks that tell why an operator is left out.
struct Cones
{
    Ids backward;
    Ids anyBackward;
    Ids forward;
    Ids anyForward;

    [[nodiscard]] LeftOut reasonFor(const FlowOperator& op) const
    {
        if (!anyBackward.contains(op.id)) {
            return LeftOut::NoPath;
        }
        if (!anyForward.contains(op.id)) {
            return LeftOut::NoInput;
        }
        if (op.isStop) {
            return LeftOut::Stops;
        }
        return backward.contains(op.id) ? LeftOut::InputStopped : LeftOut::NotPassed;
    }
};

FlowOperator operatorOf(const graph::Node& node, graph::NodeId id,
                        const std::function<bool(graph::NodeId, std::size_t)>& passes)
{
    FlowOperator op;
    op.id = static_cast<std::uint32_t>(id.index());
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (node.inputs[slot].isValid()) {
            op.inputs.push_back(node.inputs[slot].value);
            op.passes.push_back(passes(id, slot) ? 1 : 0);
        }
    }
    for (const graph::ValueId output : node.outputs) {
        if (output.isValid()) {
            op.outputs.push_back(output.value);
        }
    }
    op.isStop = std::ranges::find(op.passes, 1) == op.passes.end();
    return op;
}

/// Tokens carry the relevance of their embedding.
bool carries(const OpValue& value) { return value.isDifferentiable || value.relevanceBytes > 0; }

} // namespace

std::string_view textOf(LeftOut reason)
{
    switch (reason) {
    case LeftOut::Stops:
        return "no gradient passes this operator";
    case LeftOut::NoPath:
        return "the outputs do not depend on it";
    case LeftOut::NotPassed:
        return "the outputs depend on it only through a stop, an integer or an operand without a gradient";
    case LeftOut::NoInput:
        return "it does not depend on the inputs";
    case LeftOut::InputStopped:
        break;
    }
    return "it depends on the inputs only through a stop, an integer or an operand without a gradient";
}

CriticalSubgraph criticalSubgraph(const Flow& flow, std::span<const FlowName> outputs, std::span<const FlowName> inputs)
{
    BackwardCone backward(flow, Along::Gradients);
    backward.walk(outputs);
    ForwardCone forward(flow, Along::Gradients);
    forward.walk(inputs);
    BackwardCone anyBackward(flow, Along::Everything);
    anyBackward.walk(outputs);
    ForwardCone anyForward(flow, Along::Everything);
    anyForward.walk(inputs);
    const Cones cones{setOf(backward.hits()), setOf(anyBackward.hits()), setOf(forward.hits()),
                      setOf(anyForward.hits())};

    CriticalSubgraph found;
    found.backwardCone.assign(backward.hits().rbegin(), backward.hits().rend());
    std::ranges::copy_if(found.backwardCone, std::back_inserter(found.critical),
                         [&](std::uint32_t id) { return cones.forward.contains(id); });
    const Ids critical = setOf(found.critical);
    std::vector<const FlowOperator*> all;
    collect(flow.operators, all);
    std::ranges::sort(all, {}, &FlowOperator::id);
    for (const FlowOperator* op : all) {
        if (!critical.contains(op->id)) {
            found.skipped.push_back(op->id);
            found.reasons.push_back(cones.reasonFor(*op));
        }
    }
    for (const FlowName name : outerNames(flow, outputs, inputs)) {
        if (backward.names().contains(name) && forward.names().contains(name)) {
            found.gradientNames.push_back(name);
        }
    }
    std::ranges::sort(found.gradientNames);
    std::ranges::copy_if(inputs, std::back_inserter(found.inputsWithoutGradient),
                         [&](FlowName name) { return !backward.names().contains(name); });
    return found;
}

Flow flowOf(const graph::Graph& graph, const std::function<bool(graph::NodeId, std::size_t)>& passes)
{
    Flow flow;
    flow.operators.reserve(graph.nodeCount());
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        flow.operators.push_back(operatorOf(graph.nodes()[i], graph::NodeId(i), passes));
    }
    return flow;
}

Flow flowOf(const OpGraph& graph)
{
    Flow flow;
    for (const OpValue& value : graph.values()) {
        flow.isIntegral.push_back(carries(value) ? 0 : 1);
    }
    for (OpId id = 0; id < graph.size(); ++id) {
        const Op& op = graph.op(id);
        if (op.phase != Phase::Forward) {
            continue;
        }
        const bool isStop = std::ranges::none_of(
            op.outputs, [&graph](OpValueId output) { return graph.value(output).isDifferentiable; });
        FlowOperator& made = flow.operators.emplace_back(FlowOperator{id, op.inputs, {}, op.outputs, isStop});
        for (const OperandPart& part :
             op.parts.value_or(std::vector<OperandPart>())) { // tokens may come by a way of whole numbers
            if (std::ranges::find(op.inputs, part.operand) == op.inputs.end()) {
                made.inputs.push_back(part.operand);
            }
        }
    }
    return flow;
}

std::vector<FlowName> differentiableInputs(const OpGraph& graph)
{
    std::vector<FlowName> inputs;
    for (OpValueId id = 0; id < graph.values().size(); ++id) {
        const OpValue& value = graph.value(id);
        const bool isInput = value.producer != kNone && graph.op(value.producer).phase == Phase::Source;
        if (carries(value) && isInput) {
            inputs.push_back(id);
        }
    }
    return inputs;
}

CriticalSubgraph criticalSubgraph(const OpGraph& graph, std::span<const FlowName> inputs)
{
    std::vector<FlowName> outputs;
    for (OpValueId id = 0; id < graph.values().size(); ++id) {
        const OpValue& value = graph.value(id);
        if (value.isDifferentiable && value.isOutput) {
            outputs.push_back(id);
        }
    }
    return criticalSubgraph(flowOf(graph), outputs, inputs);
}

CriticalSubgraph criticalSubgraph(const OpGraph& graph) { return criticalSubgraph(graph, differentiableInputs(graph)); }

} // namespace retro::analysis
