// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/wantedrow.h"

#include "core/base/file.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/changedgraph.h"
#include "core/engine/model/prepare.h"
#include "core/engine/ways/rowsalone.h"
#include "core/graph/reach.h"
#include "core/lrp/composite/ruleoverride.h"
#include "core/lrp/rules/rules.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"
#include "core/ops/scoretail.h"
#include "core/trace/targetplace.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <utility>

namespace retro::engine
{

namespace
{

/// `bytes` zeros of which only pages that are written to take memory: for what is large and nearly all 0. Null where
/// the system does not have the addresses.
std::shared_ptr<std::byte> zeroPages(std::size_t bytes)
{
    const std::size_t length = std::max<std::size_t>(bytes, 1);
    void* const pages =
        ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) {
        return nullptr;
    }
    return {static_cast<std::byte*>(pages), [length](std::byte* first) { ::munmap(first, length); }};
}

using base::NodeId;
using base::ValueId;
using graph::Graph;
using graph::Node;
using tensor::Tensor;

/// Part of the tokens that lies behind the asked one and is worth a binding.
constexpr std::int64_t kWorthCutting = 16;

bool isConstant(const Graph& graph, ValueId id)
{
    return id.isValid() && graph.value(id).kind == graph::ValueKind::Constant && graph.value(id).constant.isValid();
}

/// A function of single elements, of one operand or with a constant of one element.
bool isElementwise(const Graph& graph, const Node& node)
{
    using enum ops::Elements;
    return ops::areElements(node, {Kept, Converted, Function, Summed, Subtracted, Multiplied, Divided}) &&
           !node.inputs.empty() && node.outputs.size() == 1 &&
           std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&graph](ValueId id) {
               return isConstant(graph, id) && graph.value(id).constant.size() == 1 &&
                      graph.value(id).constant.rank() <= 1;
           });
}

/// x·W with packed weights.
bool isPackedHead(const Graph& graph, const Node& node)
{
    return node.op == "MatMulNBits" && node.domain == "com.microsoft" && node.outputs.size() == 1 &&
           node.inputs.size() > 1 && !isConstant(graph, node.inputs[0]) &&
           std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                       [&graph](ValueId id) { return !id.isValid() || isConstant(graph, id); });
}

/// x·W with a constant matrix W, with or without a bias per column.
bool isHead(const Graph& graph, const Node& node)
{
    const bool isProduct = (ops::isMatMul(node) || ops::isLinearLayer(node)) && node.inputs.size() >= 2 &&
                           node.outputs.size() == 1 && !isConstant(graph, node.inputs[0]) &&
                           isConstant(graph, node.inputs[1]);
    const bool hasBias = isProduct && node.inputs.size() > 2;
    return isProduct && graph.value(node.inputs[1]).constant.rank() == 2 &&
           (!hasBias || (isConstant(graph, node.inputs[2]) && graph.value(node.inputs[2]).constant.rank() <= 1));
}

/// The product that makes the target; none where it is made in another way, or where others read what lies between.
std::optional<NodeId> headOf(const Graph& graph, ValueId target)
{
    ValueId value = target;
    while (graph.value(value).kind == graph::ValueKind::Result) {
        const std::size_t readers = graph.uses(value).size();
        const bool isOutput = std::ranges::count(graph.outputs(), value) > 0;
        if (value == target ? readers > 0 : readers != 1 || isOutput) {
            return std::nullopt;
        }
        const NodeId id = graph.nodeOf(value);
        if (isHead(graph, graph.node(id)) || isPackedHead(graph, graph.node(id))) {
            return id;
        }
        if (!isElementwise(graph, graph.node(id))) {
            return std::nullopt;
        }
        value = graph.node(id).inputs[0];
    }
    return std::nullopt;
}

std::optional<AskedPosition> positionOf(const TargetRequest& request)
{
    AskedPosition found{0, request};
    if (request.kind == TargetRequest::Kind::Value && request.index.size() == 3 && request.index[0] == 0) {
        found.row = request.index[1];
        found.target.index[1] = 0;
        return found;
    }
    if (request.kind == TargetRequest::Kind::Place) {
        for (TargetRequest::Coordinate& coordinate : found.target.place) {
            if (coordinate.axis == "token") {
                found.row = std::exchange(coordinate.index, 0);
                return found;
            }
        }
    }
    return std::nullopt;
}

/// What its nodes hand back at a row follows from that row: neither a part of all elements, nor their mean, nor places
/// in a triangle.
bool isOfRows(const lrp::Rule& rule)
{
    const lrp::RuleParameters parameters = rule.parameters();
    const auto has = [&parameters](const char* name, const lrp::RuleParameter& value) {
        const auto at = parameters.find(name);
        return at != parameters.end() && at->second == value;
    };
    return (!parameters.contains("filter") || has("filter", 1.0)) && !has("stabiliser", std::string("rms")) &&
           !has("causal", true);
}

/// Also those that pick rows and put them among others, which the whole model does not have.
bool matchesPicks(const lrp::Matcher& matcher)
{
    constexpr std::array<std::string_view, 3> kPicks{"Gather", "Identity", "Pad"};
    constexpr std::array<ops::StructureKind, 4> kLayers{ops::StructureKind::LinearMap, ops::StructureKind::Bilinear,
                                                        ops::StructureKind::SelfNormalisation,
                                                        ops::StructureKind::Softmax};
    const auto isPick = [&kPicks](const std::string& op) { return std::ranges::count(kPicks, op) > 0; };
    const bool isOfOthers = matcher.firstWeight ||
                            (!matcher.ops.empty() && std::ranges::none_of(matcher.ops, isPick)) ||
                            (matcher.structure && std::ranges::count(kLayers, *matcher.structure) > 0);
    return !isOfOthers || std::ranges::any_of(matcher.operandFrom, isPick);
}

/// True where a rule that people wrote gives a row what it gives it among all rows, and is for no node that picks rows
/// but to hand relevance on.
bool isOfRows(const lrp::CompositeEntry& entry)
{
    const lrp::RuleTraits traits = lrp::traitsOf(entry.rule->name());
    return isOfRows(*entry.rule) && (traits.handsOn || traits.isGradient || !matchesPicks(entry.matcher));
}

/// True where the rules of a composite, a built-in one or a file with the rules put before it, give a row of a value
/// alone the relevance that they give it among all rows. False where the composite cannot be read.
bool hasRulesOfRows(const std::string& composite)
{
    const lrp::Specification named = lrp::splitSpecification(composite);
    const auto says = [&named](const char* word) { return named.base.find(word) != std::string::npos; };
    std::vector<lrp::CompositeEntry> entries;
    if (named.base.ends_with(".json")) {
        const auto text = base::readTextFile(named.base, kMaxCompositeFileBytes);
        auto file = text.ok() ? lrp::parseComposite(*text, named.base) : base::Result<lrp::Composite>(text.error());
        if (!file.ok() || file->timesInput) {
            return false;
        }
        entries = std::move(file->entries);
    } else if (named.base.starts_with("dynamic") || says("filter") || says("rms")) {
        return false;
    }
    const bool areOfRows = std::ranges::all_of(entries, [](const auto& entry) { return isOfRows(entry); });
    return areOfRows && std::ranges::all_of(named.overrides, [](const std::string& text) {
               const auto entry = lrp::parseOverride(text);
               return entry.ok() && isOfRows(*entry);
           });
}

/// True where nothing but the inputs' relevance is wanted of one target.
bool wantsInputsAlone(const ExplainRequest& request)
{
    const bool isOneRow = request.start.kind == StartKind::Logit || request.start.kind == StartKind::One;
    return request.inputsOnly && isOneRow && hasRulesOfRows(request.composite) &&
           request.engine == EngineKind::Promise && request.precision == execute::Precision::Float &&
           request.save == execute::SavePolicy::Autograd && request.alsoTargets.empty() &&
           request.checkpoints.empty() && request.conditions.empty() && !request.record && !request.keepsForward &&
           !request.parameters && !request.forwarding && !request.keptByPlan && !request.region.isAsked() &&
           !request.followsDocument;
}

/// One sample: the first axis of every input is 1.
bool isOneSample(const ExplainRequest& request)
{
    return std::ranges::all_of(request.inputs,
                               [](const tensor::Tensor& input) { return input.rank() == 0 || input.shape()[0] == 1; });
}

/// Null where the changes make no graph.
std::shared_ptr<const Graph> changed(const Graph& graph, const GraphChanges& changes)
{
    const auto made = changedGraph(graph, changes);
    return made.ok() ? *made : nullptr;
}

std::shared_ptr<const Graph> withRow(const Graph& graph, NodeId head, std::int64_t axis, ValueId& position)
{
    const ValueId rows = graph.node(head).inputs[0];
    const std::string name = graph.value(rows).name + "/asked row";
    // What follows from `head` has not the shape that is declared.
    const std::vector<bool> isBehind = graph::descendantsOf(graph, graph.node(head).outputs).values;
    GraphChanges changes;
    changes.value = [&isBehind](ValueId id, graph::Value& value) {
        value.shape = isBehind[id.index()] ? std::nullopt : value.shape;
    };
    changes.node = [&](graph::GraphBuilder& builder, const std::vector<ValueId>& ids, NodeId id, Node& node) {
        if (id != head) {
            return;
        }
        position = builder.addInput(name + "/position", tensor::DType::Int64, std::vector{graph::Dimension{1, {}}});
        const ValueId picked = builder.addResult(name);
        builder.declare(picked, graph.value(rows).dtype, std::nullopt);
        builder.addNode({"Gather", "", name, "", 13, {ids[rows.index()], position}, {picked}, {{"axis", axis}}});
        node.inputs[0] = picked;
    };
    return changed(graph, changes);
}

/// By name of what a node read, what it reads in its place.
using OtherOperands = std::map<std::string, const graph::Value*, std::less<>>;

/// A value of the members of a fused node that reads other operands.
graph::Value renamed(graph::Value value, const OtherOperands& others)
{
    const auto other = others.find(value.name);
    if (value.kind != graph::ValueKind::Result && other != others.end()) {
        const bool staysConstant =
            value.kind == graph::ValueKind::Constant && other->second->kind == graph::ValueKind::Constant;
        value.kind = staysConstant ? graph::ValueKind::Constant : graph::ValueKind::Input;
        value.constant = staysConstant ? other->second->constant : Tensor();
        value.name = other->second->name;
    }
    if (value.kind != graph::ValueKind::Constant) {
        value.shape = std::nullopt; // that of more rows
    }
    return value;
}

/// The members of a fused node that reads other operands.
std::shared_ptr<const Graph> renamed(const Graph& members, const OtherOperands& others)
{
    GraphChanges changes;
    changes.value = [&others](ValueId, graph::Value& value) { value = renamed(value, others); };
    return changed(members, changes);
}

/// None where a node reads one value in two ways now.
std::optional<OtherOperands> otherOperands(const Graph& before, const Node& was, const Graph& after, const Node& is)
{
    OtherOperands others;
    for (std::size_t slot = 0; slot < std::min(was.inputs.size(), is.inputs.size()); ++slot) {
        if (was.inputs[slot].isValid() && is.inputs[slot].isValid()) {
            const graph::Value& now = after.value(is.inputs[slot]);
            const auto [at, isNew] = others.emplace(before.value(was.inputs[slot]).name, &now);
            if (!isNew && at->second->name != now.name) {
                return std::nullopt;
            }
        }
    }
    return others;
}

/// The rewritten model with a graph in which nodes read other operands: members of fused ones read them as well. Null
/// graph: those of one cannot.
rewrite::Rewritten withGraph(const rewrite::Rewritten& whole, std::shared_ptr<const Graph> graph)
{
    rewrite::Rewritten made = whole;
    made.graph = std::move(graph);
    const auto nodesOf = [](const Graph& of) {
        std::map<std::string_view, const Node*> nodes;
        for (const Node& node : of.nodes()) {
            nodes.emplace(node.name, &node);
        }
        return nodes;
    };
    const auto before = nodesOf(*whole.graph);
    const auto after = nodesOf(*made.graph);
    for (rewrite::FusedNode& fused : made.fused) {
        const auto was = before.find(fused.node);
        const auto is = after.find(fused.node);
        if (was == before.end() || is == after.end()) {
            continue;
        }
        const auto others = otherOperands(*whole.graph, *was->second, *made.graph, *is->second);
        const bool areSame =
            others && std::ranges::all_of(*others, [](const auto& pair) { return pair.first == pair.second->name; });
        fused.members = areSame ? fused.members : others ? renamed(*fused.members, *others) : nullptr;
        if (fused.members == nullptr) {
            made.graph = nullptr;
            return made;
        }
    }
    return made;
}

/// One row at its place in a value of zeros. The zeros take no memory: the value may have gigabytes of them.
tensor::Tensor placed(const tensor::Tensor& row, const tensor::Shape& shape, std::int64_t at)
{
    const tensor::Tensor plain = row.contiguous();
    const std::size_t width = tensor::sizeOf(plain.dtype());
    const auto bytes = static_cast<std::size_t>(tensor::elementCount(shape)) * width;
    const std::shared_ptr<std::byte> pages = zeroPages(bytes);
    if (pages == nullptr) {
        return row;
    }
    std::copy_n(plain.rawData(), plain.bytes(), pages.get() + static_cast<std::size_t>(at * shape.back()) * width);
    const std::span<const std::byte> data(pages.get(), bytes);
    return {plain.dtype(), shape, tensor::rowMajorStrides(shape), 0, std::make_shared<tensor::Storage>(pages, data)};
}

} // namespace

std::optional<WantedRow> WantedRow::of(const LoadedModel& model, const ExplainRequest& request)
{
    const std::optional<AskedPosition> position = positionOf(request.target);
    if (!position || position->row < 0 || !wantsInputsAlone(request) || !isOneSample(request)) {
        return std::nullopt;
    }
    const Graph& graph = *model.graph();
    const base::Result<ValueId> target = targetValue(request.target, graph);
    if (target.ok() && request.target.atScores && ops::scoreTail(graph, *target).isValid()) {
        return std::nullopt; // relevance may start before it
    }
    const std::optional<NodeId> head = target.ok() ? headOf(graph, *target) : std::nullopt;
    constexpr std::size_t kRank = 3; // sample, position, word
    const auto& declared = target.ok() ? graph.value(*target).shape : std::nullopt;
    if (!head || !declared || declared->size() != kRank || std::ranges::count(graph.outputs(), *target) != 1) {
        return std::nullopt;
    }
    WantedRow asked;
    asked.m_axis = kRank - 2;
    asked.m_rows = graph.value(graph.node(*head).inputs[0]).name;
    asked.m_model = model;
    asked.m_model.rewritten.graph = withRow(graph, *head, static_cast<std::int64_t>(asked.m_axis), asked.m_position);
    asked.m_target = *target;
    if (asked.m_model.rewritten.graph == nullptr) {
        return std::nullopt;
    }
    asked.take(request, *position);
    return asked;
}

bool WantedRow::ask(const LoadedModel& whole, const ExplainRequest& request)
{
    const std::optional<AskedPosition> position = positionOf(request.target);
    if (!position || position->row < 0 || !wantsInputsAlone(request) || !isOneSample(request)) {
        return false;
    }
    const base::Result<ValueId> target = targetValue(request.target, *whole.graph());
    if (!target.ok() || *target != m_target) {
        return false;
    }
    take(request, *position);
    return true;
}

void WantedRow::take(const ExplainRequest& request, const AskedPosition& position)
{
    m_row = position.row;
    m_request = request;
    m_request.target = position.target;
    m_request.inputs.push_back(tensor::Tensor::of<std::int64_t>({1}, std::span<const std::int64_t>(&m_row, 1)));
}

std::optional<LoadedModel> WantedRow::narrowed(const std::stop_token& stop)
{
    const auto bound = bindModel(m_model, m_request.inputs, m_request.precision, nullptr, stop);
    if (!bound.ok() || (*bound)->sharedGraph() != m_model.graph()) {
        return std::nullopt;
    }
    const graph::Graph& graph = *m_model.graph();
    m_count = (*bound)->typeOf(graph.findValue(m_rows).value()).shape[m_axis];
    if (m_row >= m_count) {
        return std::nullopt; // refused when it runs
    }
    const ValueId picked = graph.findValue(m_rows + "/asked row").value();
    LoadedModel narrow = m_model;
    const auto take = [&narrow](std::shared_ptr<const Graph> made) {
        rewrite::Rewritten written =
            made == nullptr ? rewrite::Rewritten() : withGraph(narrow.rewritten, std::move(made));
        const bool isThere = written.graph != nullptr;
        if (isThere) {
            narrow.rewritten = std::move(written);
        }
        return isThere;
    };
    if (!take(withRowAlone(**bound, graph.value(picked).producer, m_row))) {
        return std::nullopt;
    }
    if (m_count - 1 - m_row >= std::max<std::int64_t>(m_count / kWorthCutting, 1)) {
        const auto row = bindModel(narrow, m_request.inputs, m_request.precision, nullptr, stop);
        const std::vector<tensor::Tensor> inputs =
            inPrecision(*narrow.rewritten.graph, m_request.inputs, m_request.precision);
        take(row.ok() ? withPrefixAlone(**row, inputs, m_row, m_count) : nullptr);
    }
    return narrow;
}

void WantedRow::restorePlace(ExplainResult& result) const
{
    const Graph& graph = result.model->graph();
    const std::optional<ValueId> rows = graph.findValue(m_rows);
    tensor::Shape shape = result.model->typeOf(result.target.value).shape;
    shape[m_axis] = m_count > 0 ? m_count : rows ? result.model->typeOf(*rows).shape[m_axis] : m_row + 1;
    result.target.start = placed(result.target.start, shape, m_row);
    const std::vector<std::string> names = trace::axisNames(graph, result.target.value, shape.size());
    result.target.place.clear();
    for (std::int64_t& index : result.target.index) {
        index += index < 0 ? 0 : m_row * shape.back();
        result.target.place.push_back(index < 0 ? std::string() : trace::placeText(names, shape, index));
    }
}

} // namespace retro::engine
