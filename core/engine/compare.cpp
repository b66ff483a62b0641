// SPDX-License-Identifier: Apache-2.0
#include "core/engine/compare.h"

#include "core/base/cancel.h"
#include "core/engine/results.h"
#include "core/graph/graphbuilder.h"
#include "core/lrp/ruleformulas.h"
#include "core/ops/algebra.h"
#include "core/trace/runfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace retro::engine
{

using base::NodeId;
using base::Result;
using base::ValueId;
using tensor::Tensor;

namespace
{

// The inputs of a run of gradient × input hold the gradient.
void multiplyByInputs(const trace::Run& run, std::vector<Tensor>& relevance)
{
    for (const ValueId input : run.graph->inputs()) {
        Tensor& gradient = relevance[input.index()];
        const Tensor& value = run.values[input.index()];
        if (gradient.isValid() && value.isValid() && tensor::isFloating(value.dtype())) {
            gradient = ops::algebra::multiply(gradient, value.to(gradient.dtype()));
        }
    }
}

} // namespace

std::vector<Tensor> finalRelevance(const trace::Run& run)
{
    const graph::Graph& graph = *run.graph;
    std::vector<Tensor> relevance(graph.valueCount());
    for (const event::Event& event : run.events) {
        if (event.kind != event::EventKind::Relevance || event.handle >= run.tensors.size()) {
            continue;
        }
        const auto outputs = graph.outputsOf(NodeId(event.node));
        if (event.slot < outputs.size() && outputs[event.slot].isValid()) {
            relevance[outputs[event.slot].index()] = run.tensors[event.handle];
        }
    }
    if (run.facts.numbers.count("times_input") != 0) {
        multiplyByInputs(run, relevance);
    }
    return relevance;
}

namespace
{

/// The relevance of one side, asked for by the values of the leading graph.
class Side
{
public:
    Side(const ComparedSide& side, const graph::Graph& leading, bool byPosition)
        : m_side(side), m_leading(leading), m_byPosition(byPosition)
    {
        if (side.run) {
            m_relevance = finalRelevance(*side.run);
        } else {
            m_fileNames = fileNames(leading);
        }
    }

    [[nodiscard]] Tensor of(ValueId value) const
    {
        if (!m_side.run) {
            const auto exact = m_side.tensors.find(m_leading.value(value).name);
            const auto found = exact != m_side.tensors.end() ? exact : m_side.tensors.find(m_fileNames[value.index()]);
            return found == m_side.tensors.end() ? Tensor() : found->second;
        }
        if (m_byPosition) {
            return m_relevance[value.index()];
        }
        const auto own = m_side.run->graph->findValue(m_leading.value(value).name);
        return own ? m_relevance[own->index()] : Tensor();
    }

    /// The rule of a node of the leading graph; empty when this side does not know it.
    [[nodiscard]] std::string rule(NodeId node) const
    {
        if (!m_side.run) {
            return {};
        }
        const std::optional<NodeId> own = m_byPosition ? std::optional(node) : byOutput(node);
        return own && own->index() < m_side.run->rules.size() ? m_side.run->rules[own->index()].rule : std::string();
    }

private:
    // The node that makes the value of the same name.
    [[nodiscard]] std::optional<NodeId> byOutput(NodeId node) const
    {
        for (const ValueId output : m_leading.node(node).outputs) {
            const auto own = output.isValid() ? m_side.run->graph->findValue(m_leading.value(output).name)
                                              : std::optional<ValueId>();
            if (own && !m_side.run->graph->isInput(m_side.run->graph->nodeOf(*own))) {
                return m_side.run->graph->nodeOf(*own);
            }
        }
        return std::nullopt;
    }

    const ComparedSide& m_side;
    const graph::Graph& m_leading;
    bool m_byPosition;
    std::vector<Tensor> m_relevance;      // by ValueId of the side's own graph
    std::vector<std::string> m_fileNames; // by ValueId of the leading graph
};

std::vector<std::int64_t> indexOf(std::int64_t flat, const tensor::Shape& shape)
{
    std::vector<std::int64_t> index(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        index[axis] = flat % shape[axis];
        flat /= shape[axis];
    }
    return index;
}

// |a − b|; infinite where only one is a number, 0 where both are the same kind of none.
double gap(double a, double b)
{
    if (std::isfinite(a) && std::isfinite(b)) {
        return std::abs(a - b);
    }
    const bool isSame = a == b || (std::isnan(a) && std::isnan(b));
    return isSame ? 0 : std::numeric_limits<double>::infinity();
}

double cosineOf(const Tensor& a, const Tensor& b)
{
    const double lengths = std::sqrt(ops::algebra::dot(a, a)) * std::sqrt(ops::algebra::dot(b, b));
    return lengths == 0 ? 1 : ops::algebra::dot(a, b) / lengths;
}

void findLargest(const Tensor& a, const Tensor& b, ValueDifference& difference)
{
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < a.size(); ++i) {
        const double x = a.at(i);
        const double y = b.at(i);
        difference.scale =
            std::max({difference.scale, std::isfinite(x) ? std::abs(x) : 0, std::isfinite(y) ? std::abs(y) : 0});
        if (const double distance = gap(x, y); distance > difference.largest) {
            difference.largest = distance;
            at = i;
        }
    }
    if (a.size() > 0) {
        difference.index = indexOf(at, a.shape());
        difference.a = a.at(at);
        difference.b = b.at(at);
    }
}

ValueDifference differenceOf(ValueId value, const std::string& name, const Tensor& first, const Tensor& second)
{
    const Tensor a = first.to(tensor::DType::Float64);
    const Tensor b = second.to(tensor::DType::Float64);
    ValueDifference difference;
    difference.value = value;
    difference.name = name;
    difference.sumA = ops::algebra::sum(a);
    difference.sumB = ops::algebra::sum(b);
    if (a.shape() == b.shape()) {
        findLargest(a, b, difference);
        difference.cosine = cosineOf(a, b);
    } else {
        difference.largest = std::numeric_limits<double>::infinity();
        difference.scale = 1;
        difference.cosine = 0;
        difference.fault =
            fmt::format("shapes differ: {} and {}", tensor::toText(a.shape()), tensor::toText(b.shape()));
    }
    return difference;
}

/// Values that nodes make, the last first, then the inputs: what stands before is never below what stands after.
std::vector<ValueId> passOrder(const graph::Graph& graph)
{
    std::vector<ValueId> order;
    for (std::size_t i = graph.nodeCount(); i-- > 0;) {
        for (const ValueId output : graph.node(NodeId(i)).outputs) {
            if (output.isValid()) {
                order.push_back(output);
            }
        }
    }
    order.insert(order.end(), graph.inputs().begin(), graph.inputs().end());
    return order;
}

/// Compares the sides over the leading graph.
class Comparer
{
public:
    Comparer(const graph::Graph& graph, const Side& a, const Side& b, Comparison& result)
        : m_graph(graph), m_a(a), m_b(b), m_result(result), m_isCompared(graph.valueCount(), false)
    {}

    Result<void> run(const std::stop_token& stop)
    {
        for (const ValueId value : passOrder(m_graph)) {
            RETRO_CHECK(base::checkStop(stop));
            compareValue(value);
        }
        if (m_result.values.empty()) {
            return base::inputError("the two have no value with relevance in common; values are matched by name: the "
                                    "arrays of an .npz carry the names of the model's values (retrograde-cli info "
                                    "MODEL --shapes lists them)");
        }
        return {};
    }

private:
    void compareValue(ValueId value)
    {
        const Tensor a = m_a.of(value);
        const Tensor b = m_b.of(value);
        const std::string& name = m_graph.value(value).name;
        if (a.isValid() && b.isValid()) {
            ValueDifference difference = differenceOf(value, name, a, b);
            m_isCompared[value.index()] = true;
            if (!m_result.parting && !(difference.relative() <= m_result.tolerance)) {
                m_result.parting = partingAt(difference);
            }
            m_result.values.push_back(std::move(difference));
        } else if (a.isValid()) {
            m_result.onlyA.push_back(name);
        } else if (b.isValid()) {
            m_result.onlyB.push_back(name);
        }
    }

    // Everything above agrees, so it was one of the consumers whose relevance both sides have.
    [[nodiscard]] Parting partingAt(const ValueDifference& difference) const
    {
        Parting parting{difference, true, {}};
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            const graph::Node& node = m_graph.node(NodeId(i));
            const bool reads = std::ranges::find(node.inputs, difference.value) != node.inputs.end();
            const bool isKnown = std::ranges::any_of(
                node.outputs, [&](ValueId output) { return output.isValid() && m_isCompared[output.index()]; });
            if (reads && isKnown) {
                parting.nodes.push_back(partingNode(NodeId(i)));
            }
        }
        parting.isStart = parting.nodes.empty();
        std::ranges::stable_partition(parting.nodes, [](const PartingNode& node) { return node.ruleA != node.ruleB; });
        return parting;
    }

    [[nodiscard]] PartingNode partingNode(NodeId id) const
    {
        PartingNode node{id, m_graph.labelOf(id), std::string(m_graph.opOf(id)), m_a.rule(id), m_b.rule(id), {}, {}};
        node.formulaA = lrp::formulaOf(node.ruleA);
        node.formulaB = lrp::formulaOf(node.ruleB);
        return node;
    }

    const graph::Graph& m_graph;
    const Side& m_a;
    const Side& m_b;
    Comparison& m_result;
    std::vector<bool> m_isCompared; // by ValueId
};

std::string targetText(const trace::Run& run)
{
    std::string text = run.facts.targetValue.isValid() && run.facts.targetValue.index() < run.graph->valueCount()
                           ? run.graph->value(run.facts.targetValue).name
                           : std::string("?");
    for (const std::int64_t index : run.facts.targetIndex) {
        text += fmt::format(" {}", index);
    }
    return text;
}

void addFact(const char* name, const std::string& a, const std::string& b, std::vector<std::string>& facts)
{
    if (a != b) {
        facts.push_back(fmt::format("{}: {} ↔ {}", name, a, b));
    }
}

std::vector<std::string> differentFacts(const trace::Run& a, const trace::Run& b)
{
    std::vector<std::string> facts;
    addFact("model", a.facts.modelName, b.facts.modelName, facts);
    addFact("composite", a.facts.composite, b.facts.composite, facts);
    addFact("target", targetText(a), targetText(b), facts);
    addFact("start", a.facts.start, b.facts.start, facts);
    addFact("precision", a.facts.precision, b.facts.precision, facts);
    addFact("input", a.facts.input ? a.facts.input->file : "", b.facts.input ? b.facts.input->file : "", facts);
    return facts;
}

} // namespace

Result<ComparedSide> readCompared(const std::filesystem::path& path)
{
    ComparedSide side;
    side.name = path.filename().string();
    if (path.extension() == ".npz") {
        RETRO_TRY(side.tensors, tensor::readNpz(path));
        for (const auto& [name, tensor] : side.tensors) {
            if (!tensor::isFloating(tensor.dtype())) {
                return base::inputError(fmt::format("the array \"{}\" is {}; relevance is floating point", name,
                                                    tensor::nameOf(tensor.dtype())),
                                        path.string());
            }
        }
        return side;
    }
    if (path.extension() != ".retro") {
        return base::usageError("recorded runs (.retro) and arrays by value name (.npz) can be compared",
                                path.string());
    }
    RETRO_TRY(side.run, trace::readRun(path));
    return side;
}

Result<Comparison> compare(const ComparedSide& a, const ComparedSide& b, double tolerance, const std::stop_token& stop)
{
    if (!a.run && !b.run) {
        return base::usageError("one of the two must be a recorded run, which knows the graph", "compare");
    }
    const graph::Graph& graph = *(a.run ? a.run : b.run)->graph;
    Comparison result;
    result.tolerance = tolerance;
    result.sameStructure =
        a.run && b.run && graph::structuralHash(*a.run->graph) == graph::structuralHash(*b.run->graph);
    if (a.run && b.run) {
        result.differentFacts = differentFacts(*a.run, *b.run);
    }
    const Side first(a, graph, result.sameStructure);
    const Side second(b, graph, result.sameStructure);
    RETRO_CHECK(Comparer(graph, first, second, result).run(stop));
    return result;
}

} // namespace retro::engine
