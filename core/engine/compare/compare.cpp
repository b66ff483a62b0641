// SPDX-License-Identifier: Apache-2.0
#include "core/engine/compare/compare.h"

#include "core/base/cancel.h"
#include "core/base/record.h"
#include "core/diagnosis/diagnosis.h"
#include "core/engine/compare/comparedvalues.h"
#include "core/engine/results/results.h"
#include "core/graph/graphbuilder.h"
#include "core/graph/reach.h"
#include "core/lrp/rules/ruleformulas.h"
#include "core/ops/algebra.h"
#include "core/trace/askedotherwise.h"
#include "core/trace/meantrelevance.h"
#include "core/trace/runfile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>

namespace retro::engine
{

using base::NodeId;
using base::Result;
using base::ValueId;
using nlohmann::ordered_json;
using tensor::Tensor;

namespace
{

/// Who may have handed on what two sides do not agree on.
class PartingSearch
{
public:
    PartingSearch(const graph::Graph& graph, const ComparedValues& a, const ComparedValues& b);

    /// The search begins at the first value that differs, so that everything compared before it agrees. `isCompared` by
    /// ValueId. Linear in the part of the graph between the value and the values above it that are compared.
    [[nodiscard]] Parting from(const ValueDifference& difference, const std::vector<bool>& isCompared) const;

private:
    class Walk;

    [[nodiscard]] bool isStart(base::ValueId value) const;
    [[nodiscard]] bool handsOn(base::NodeId node) const;
    [[nodiscard]] bool isOnTheWay(base::ValueId value) const;
    [[nodiscard]] PartingNode describe(base::NodeId id) const;

    const graph::Graph& m_graph;
    const ComparedValues& m_a;
    const ComparedValues& m_b;
    std::vector<base::ValueId> m_starts;
    std::vector<bool> m_leads; // by ValueId: a start is computed from it, or it is one
};

PartingSearch::PartingSearch(const graph::Graph& graph, const ComparedValues& a, const ComparedValues& b)
    : m_graph(graph), m_a(a), m_b(b)
{
    for (const ComparedValues* side : {&a, &b}) {
        if (const auto start = side->start()) {
            m_starts.push_back(*start);
        }
    }
    if (m_starts.empty()) { // a run that does not say it: one from before it was written down
        m_starts.assign(graph.outputs().begin(), graph.outputs().end());
    }
    m_leads = graph::ancestorsOf(graph, m_starts).values;
}

bool PartingSearch::isStart(ValueId value) const { return std::ranges::find(m_starts, value) != m_starts.end(); }

bool PartingSearch::isOnTheWay(ValueId value) const
{
    return value.isValid() && m_leads[value.index()] && (m_a.mayCarry(value) || m_b.mayCarry(value));
}

bool PartingSearch::handsOn(NodeId node) const
{
    const auto mayPass = [node](const ComparedValues& side) { return !side.knowsRules() || !side.rule(node).empty(); };
    // A side of tensors alone knows nothing of which nodes pass relevance; the other one does.
    const bool passes =
        m_a.knowsRules() && m_b.knowsRules() ? mayPass(m_a) || mayPass(m_b) : mayPass(m_a) && mayPass(m_b);
    return passes &&
           std::ranges::any_of(m_graph.node(node).outputs, [this](ValueId output) { return isOnTheWay(output); });
}

PartingNode PartingSearch::describe(NodeId id) const
{
    PartingNode node{id, m_graph.labelOf(id), std::string(m_graph.opOf(id)), m_a.rule(id), m_b.rule(id), {}, {}};
    const std::string known = m_a.structure(id);
    const std::string structure = known.empty() ? m_b.structure(id) : known;
    node.formulaA = lrp::formulaOf(node.ruleA, structure);
    node.formulaB = lrp::formulaOf(node.ruleB, structure);
    return node;
}

/// From a value up to the nearest ones that are compared.
class PartingSearch::Walk
{
public:
    Walk(const PartingSearch& search, const std::vector<bool>& isCompared, Parting& parting)
        : m_search(search), m_isCompared(isCompared), m_parting(parting)
    {}

    void run(ValueId from)
    {
        m_waiting.push_back(from);
        while (!m_waiting.empty()) {
            const ValueId value = m_waiting.back();
            m_waiting.pop_back();
            for (const graph::Use& use : m_search.m_graph.uses(value)) {
                if (m_search.handsOn(use.node) && m_nodes.insert(use.node.index()).second) {
                    climb(use.node);
                }
            }
        }
        tell();
    }

private:
    void climb(NodeId node)
    {
        for (const ValueId output : m_search.m_graph.node(node).outputs) {
            if (!m_search.isOnTheWay(output)) {
                continue;
            }
            if (m_isCompared[output.index()]) {
                m_agreeing.insert(output.index());
                continue;
            }
            m_parting.isNarrowed = false;
            if (m_search.isStart(output)) {
                m_parting.unknownStart = m_search.m_graph.value(output).name;
            }
            m_waiting.push_back(output);
        }
    }

    // From the target on: nodes are sorted, and mostly so are the values that they make.
    void tell()
    {
        for (auto node = m_nodes.rbegin(); node != m_nodes.rend(); ++node) {
            m_parting.nodes.push_back(m_search.describe(NodeId(*node)));
        }
        for (auto value = m_agreeing.rbegin(); value != m_agreeing.rend(); ++value) {
            m_parting.agreeing.push_back(m_search.m_graph.value(ValueId(*value)).name);
        }
    }

    const PartingSearch& m_search;
    const std::vector<bool>& m_isCompared;
    Parting& m_parting;
    std::vector<ValueId> m_waiting;
    std::set<std::size_t> m_nodes;
    std::set<std::size_t> m_agreeing;
};

Parting PartingSearch::from(const ValueDifference& difference, const std::vector<bool>& isCompared) const
{
    Parting parting;
    parting.value = difference;
    parting.isStart = isStart(difference.value);
    if (!parting.isStart) {
        Walk(*this, isCompared, parting).run(difference.value);
    }
    std::ranges::stable_partition(parting.nodes, [](const PartingNode& node) { return node.ruleA != node.ruleB; });
    return parting;
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
        difference.index = tensor::indexOf(at, a.shape());
        difference.a = a.at(at);
        difference.b = b.at(at);
    }
}

// The tensor with an axis of 1 in front, when that is all that keeps it from the other's shape: a batch of one that the
// other tool left out.
std::optional<Tensor> withBatchAxis(const Tensor& tensor, const Tensor& other)
{
    tensor::Shape shape = tensor.shape();
    shape.insert(shape.begin(), 1);
    return shape == other.shape() ? std::optional(tensor.contiguous().reshaped(shape)) : std::nullopt;
}

std::string addBatchAxis(Tensor& a, Tensor& b)
{
    for (const auto& [side, tensor, other] : {std::tuple("A", &a, &b), std::tuple("B", &b, &a)}) {
        if (std::optional<Tensor> whole = withBatchAxis(*tensor, *other)) {
            std::string note = fmt::format("{} gives {}: compared as {}", side, tensor::toText(tensor->shape()),
                                           tensor::toText(whole->shape()));
            *tensor = std::move(*whole);
            return note;
        }
    }
    return {};
}

std::string shapeFault(const Tensor& a, const Tensor& b)
{
    return fmt::format("shapes differ: {} and {}{}", tensor::toText(a.shape()), tensor::toText(b.shape()),
                       a.size() == b.size() ? ", of as many elements: one side needs a transpose or a reshape" : "");
}

ValueDifference differenceOf(ValueId value, const std::string& name, const Tensor& first, const Tensor& second)
{
    Tensor a = first.to(tensor::DType::Float64);
    Tensor b = second.to(tensor::DType::Float64);
    ValueDifference difference;
    difference.value = value;
    difference.name = name;
    difference.note = addBatchAxis(a, b);
    difference.sumA = ops::algebra::sum(a);
    difference.sumB = ops::algebra::sum(b);
    if (a.shape() == b.shape()) {
        findLargest(a, b, difference);
        difference.cosine = cosineOf(a, b);
    } else {
        difference.largest = std::numeric_limits<double>::infinity();
        difference.scale = 1;
        difference.cosine = 0;
        difference.fault = shapeFault(a, b);
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
    Comparer(const graph::Graph& graph, const ComparedValues& a, const ComparedValues& b, Comparison& result)
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
                                    "MODEL --shapes lists them)" +
                                    strangers());
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
                m_result.parting = PartingSearch(m_graph, m_a, m_b).from(difference, m_isCompared);
            }
            m_result.values.push_back(std::move(difference));
        } else if (a.isValid()) {
            m_result.onlyA.push_back(name);
        } else if (b.isValid()) {
            m_result.onlyB.push_back(name);
        }
    }

    // Some arrays that are no value of the model.
    [[nodiscard]] std::string strangers() const
    {
        constexpr std::size_t kShown = 3;
        std::vector<std::string> names = m_result.unmatchedA;
        names.insert(names.end(), m_result.unmatchedB.begin(), m_result.unmatchedB.end());
        const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
        names.resize(names.size() - more);
        return names.empty() ? std::string()
                             : fmt::format("; no value has the name {}{}", fmt::join(names, ", "),
                                           more > 0 ? fmt::format(" and {} more", more) : "");
    }

    const graph::Graph& m_graph;
    const ComparedValues& m_a;
    const ComparedValues& m_b;
    Comparison& m_result;
    std::vector<bool> m_isCompared; // by ValueId
};

void addFact(std::string_view name, const std::string& a, const std::string& b, std::vector<std::string>& facts)
{
    if (a != b) {
        facts.push_back(fmt::format("{}: {} ↔ {}", name, a, b));
    }
}

std::vector<std::string> differentFacts(const trace::Run& a, const trace::Run& b)
{
    std::vector<std::string> facts;
    addFact("model", a.facts.modelName, b.facts.modelName, facts);
    if (a.facts.modelName == b.facts.modelName && trace::areOtherFiles(a.facts, b.facts)) {
        facts.push_back(fmt::format("model: two files of the name {} that differ", a.facts.modelName));
    }
    addFact("composite", a.facts.composite, b.facts.composite, facts);
    const std::vector<trace::AskedOtherwise> asked = trace::askedOtherwise(a, b);
    for (const trace::AskedOtherwise& one : asked) {
        addFact(one.what, one.a, one.b, facts);
    }
    if (!asked.empty()) {
        facts.push_back("these are two questions: how their relevance differs is no change of one answer");
    }
    addFact("precision", a.facts.precision, b.facts.precision, facts);
    addFact("input", a.facts.input ? a.facts.input->file : "", b.facts.input ? b.facts.input->file : "", facts);
    return facts;
}

/// Chooses the arrays of an archive that can be compared, by their headers alone.
class ArrayChoice
{
public:
    ArrayChoice(const trace::Run* other, std::vector<std::string>& unmatched) : m_other(other), m_unmatched(unmatched)
    {
        if (other != nullptr) {
            const std::vector<std::string> files = fileNames(*other->graph);
            for (std::size_t i = 0; i < files.size(); ++i) {
                m_byFile.emplace(files[i], ValueId(i));
            }
        }
    }

    std::optional<std::string> operator()(const std::string& name, const tensor::NpyHeader& header) const
    {
        if (!tensor::isFloating(header.dtype)) {
            return fmt::format("it is {}; relevance is floating point", tensor::nameOf(header.dtype));
        }
        if (m_other == nullptr) {
            return std::nullopt;
        }
        const auto file = m_byFile.find(name);
        const std::optional<ValueId> exact = m_other->graph->findValue(name);
        if (!exact && file == m_byFile.end()) {
            m_unmatched.push_back(name);
            return std::string();
        }
        return shapeReason(exact ? *exact : file->second, header);
    }

private:
    /// A large array that no reshape makes one of the value's is not worth its memory.
    [[nodiscard]] std::optional<std::string> shapeReason(ValueId value, const tensor::NpyHeader& header) const
    {
        const bool isKnown = value.index() < m_other->shapes.size();
        const std::int64_t count = tensor::elementCount(header.shape);
        if (!isKnown || count <= kMostStrangeElements ||
            count == tensor::elementCount(m_other->shapes[value.index()])) {
            return std::nullopt;
        }
        return fmt::format("its shape {} is not that of the value, {}", tensor::toText(header.shape),
                           tensor::toText(m_other->shapes[value.index()]));
    }

    static constexpr std::int64_t kMostStrangeElements = 1 << 22;

    const trace::Run* m_other;
    std::vector<std::string>& m_unmatched;
    std::unordered_map<std::string, ValueId> m_byFile;
};

// Floating-point arrays; the others are listed.
Result<void> readArrays(const std::filesystem::path& path, const trace::Run* other, ComparedSide& side)
{
    RETRO_TRY(tensor::NpzContents contents, tensor::readNpzNumbers(path, ArrayChoice(other, side.unmatched)));
    side.skipped = std::move(contents.skipped);
    side.tensors = std::move(contents.tensors);
    if (side.tensors.empty() && side.unmatched.empty()) {
        return base::inputError("there is no floating-point array in it; save relevance with numpy.savez(file, "
                                "**{name: array})" +
                                    (side.skipped.empty() ? std::string() : "; passed over: " + side.skipped.front()),
                                path.string());
    }
    return {};
}

ordered_json valueJson(const ValueDifference& value)
{
    ordered_json json = valueFields().json(value);
    base::add(json, {{"fault", base::ifAny(value.fault)}, {"note", base::ifAny(value.note)}});
    return json;
}

ordered_json partingJson(const Parting& parting)
{
    const ordered_json nodes = base::listOf(parting.nodes, [&](const PartingNode& node) -> ordered_json {
        return {{"node", node.name},    {"operator", node.op},        {"rule_a", node.ruleA},
                {"rule_b", node.ruleB}, {"formula_a", node.formulaA}, {"formula_b", node.formulaB}};
    });
    return {{"at_start", parting.isStart},
            {"value", valueJson(parting.value)},
            {"narrowed", parting.isNarrowed},
            {"agreeing", parting.agreeing},
            {"start_not_compared", !parting.unknownStart.empty()},
            {"nodes", nodes}};
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
    for (const ValueId input : graph.inputs()) {
        relevance[input.index()] = trace::meantRelevance(run, input, relevance[input.index()]);
    }
    return relevance;
}

Result<ComparedSide> readCompared(const std::filesystem::path& path, const trace::Run* other)
{
    ComparedSide side;
    side.name = path.filename().string();
    if (path.extension() == ".npz") {
        RETRO_CHECK(readArrays(path, other, side));
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
    const ComparedValues first(a, graph, result.sameStructure);
    const ComparedValues second(b, graph, result.sameStructure);
    result.unmatchedA = first.unmatched();
    result.unmatchedB = second.unmatched();
    result.skippedA = a.skipped;
    result.skippedB = b.skipped;
    RETRO_CHECK(Comparer(graph, first, second, result).run(stop));
    return result;
}

const base::Fields<ValueDifference>& valueFields()
{
    using Value = ValueDifference;
    static const base::Fields<Value> kFields{{"value", &Value::name},    {"sum_a", &Value::sumA},
                                             {"sum_b", &Value::sumB},    {"largest", &Value::largest},
                                             {"scale", &Value::scale},   {"relative", &Value::relative},
                                             {"cosine", &Value::cosine}, {"index", &Value::index},
                                             {"a", &Value::a},           {"b", &Value::b}};
    return kFields;
}

ordered_json comparisonJson(const Comparison& comparison, const std::vector<diagnosis::Finding>* differences)
{
    ordered_json json{{"agree", !comparison.parting},
                      {"tolerance", comparison.tolerance},
                      {"same_structure", comparison.sameStructure},
                      {"different", comparison.differentFacts}};
    if (differences != nullptr) {
        json["diagnosis"] = diagnosis::findingsJson(*differences);
    }
    json["parting"] = comparison.parting ? partingJson(*comparison.parting) : ordered_json();
    json["values"] = ordered_json::array();
    std::ranges::transform(comparison.values, std::back_inserter(json["values"]), valueJson);
    json["only_a"] = comparison.onlyA;
    json["only_b"] = comparison.onlyB;
    json["not_matched_a"] = comparison.unmatchedA;
    json["not_matched_b"] = comparison.unmatchedB;
    json["skipped_a"] = comparison.skippedA;
    json["skipped_b"] = comparison.skippedB;
    return json;
}

} // namespace retro::engine
