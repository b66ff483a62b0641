// SPDX-License-Identifier: Apache-2.0
#include "core/trace/wrongnumber.h"

#include "core/ops/algebra.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace retro::trace
{

namespace
{

bool isWrong(const Tensor& tensor)
{
    if (!tensor.isValid() || !tensor::isFloating(tensor.dtype())) {
        return false;
    }
    const bool isPlain = tensor.dtype() == tensor::DType::Float32 || tensor.dtype() == tensor::DType::Float64;
    return !ops::algebra::allFinite(isPlain ? tensor : tensor.to(tensor::DType::Float32));
}

/// Walks from a value that is not finite to what it was computed from, as long as that is not finite either.
class OriginSearch
{
public:
    explicit OriginSearch(const PassNumbers& pass) : m_pass(pass) {}

    /// Invalid when the value is finite.
    ValueId find(ValueId value)
    {
        look(value);
        while (!m_open.empty()) {
            const ValueId next = m_open.back();
            m_open.pop_back();
            if (!openOperandsOf(next)) {
                take(next);
            }
        }
        return m_best;
    }

private:
    bool look(ValueId value)
    {
        if (m_seen.contains(value)) {
            return true;
        }
        if (m_pass.forward(value).empty()) {
            return false;
        }
        m_seen.insert(value);
        m_open.push_back(value);
        return true;
    }

    // False when the value is one of those where it began.
    bool openOperandsOf(ValueId value)
    {
        const NodeId node = m_pass.graph.nodeOf(value);
        if (!node.isValid() || m_pass.graph.isInput(node)) {
            return false;
        }
        bool isFound = false;
        for (const ValueId operand : m_pass.graph.node(node).inputs) {
            const bool isComputed = operand.isValid() && m_pass.graph.nodeOf(operand).isValid();
            isFound = (isComputed && look(operand)) || isFound;
        }
        return isFound;
    }

    // Inputs come before all nodes, and nodes in their order.
    [[nodiscard]] std::pair<int, std::size_t> orderOf(ValueId value) const
    {
        const NodeId node = m_pass.graph.nodeOf(value);
        const bool isInput = node.isValid() && m_pass.graph.isInput(node);
        return {isInput ? 0 : 1, node.isValid() ? node.index() : value.index()};
    }

    void take(ValueId value)
    {
        if (!m_best.isValid() || orderOf(value) < orderOf(m_best)) {
            m_best = value;
        }
    }

    const PassNumbers& m_pass;
    std::vector<ValueId> m_open;
    std::set<ValueId> m_seen;
    ValueId m_best;
};

std::string placeOf(const PassNumbers& pass, NodeId node)
{
    const graph::Graph& graph = pass.graph;
    if (graph.isInput(node)) {
        return fmt::format("input \"{}\"", graph.labelOf(node));
    }
    const std::string rule = node.index() < pass.rules.size() ? pass.rules[node.index()].rule : std::string();
    return fmt::format("node \"{}\" ({}{}{})", graph.labelOf(node), graph.opOf(node), rule.empty() ? "" : ", rule ",
                       rule);
}

WrongNumber describe(const PassNumbers& pass, ValueId value)
{
    const graph::Graph& graph = pass.graph;
    const std::string element = pass.forward(value);
    const NodeId node = graph.nodeOf(value);
    if (!node.isValid()) {
        return {node, fmt::format("value \"{}\"", graph.value(value).name), fmt::format("the constant is {}", element)};
    }
    if (graph.isInput(node)) {
        return {node, placeOf(pass, node), fmt::format("its value is {}", element)};
    }
    std::string text = fmt::format("the forward value \"{}\" is {}", graph.value(value).name, element);
    for (const ValueId operand : graph.node(node).inputs) {
        const bool isConstant = operand.isValid() && !graph.nodeOf(operand).isValid();
        const std::string own = isConstant ? pass.forward(operand) : std::string();
        if (!own.empty()) {
            text += fmt::format("; its constant operand \"{}\" is {}", graph.value(operand).name, own);
        }
    }
    return {node, placeOf(pass, node), std::move(text)};
}

/// The first of a node's operands that `elementOf` gives a wrong number for: its name and the number.
std::string wrongOperand(const graph::Graph& graph, NodeId node, const WrongElementOf& elementOf)
{
    for (const ValueId operand : graph.isInput(node) ? std::vector<ValueId>() : graph.node(node).inputs) {
        const std::string element = operand.isValid() ? elementOf(operand) : std::string();
        if (!element.empty()) {
            return fmt::format("\"{}\" is {}", graph.value(operand).name, element);
        }
    }
    return {};
}

std::string wrongResult(const PassNumbers& pass, NodeId node)
{
    for (const ValueId output : pass.graph.outputsOf(node)) {
        const std::string element = output.isValid() ? pass.relevance(output) : std::string();
        if (!element.empty()) {
            return fmt::format("\"{}\" is {}", pass.graph.value(output).name, element);
        }
    }
    return {};
}

// Where it began, when that is not the operand itself.
std::string beganAt(const PassNumbers& pass, NodeId node)
{
    OriginSearch search(pass);
    for (const ValueId operand : pass.graph.node(node).inputs) {
        const bool isComputed = operand.isValid() && pass.graph.nodeOf(operand).isValid();
        const ValueId origin = isComputed ? search.find(operand) : ValueId();
        if (origin.isValid() && origin != operand) {
            const WrongNumber began = describe(pass, origin);
            return fmt::format("; it began at {}: {}", began.where, began.text);
        }
    }
    return {};
}

// The rule of the node made it.
std::string madeAt(const PassNumbers& pass, NodeId node)
{
    const std::string relevance = wrongOperand(pass.graph, node, pass.relevance);
    const std::string forward = wrongOperand(pass.graph, node, pass.forward);
    std::string text = relevance.empty() ? std::string("the relevance that it hands on is not finite")
                                         : "the relevance of " + relevance;
    return forward.empty() ? text
                           : fmt::format("{}; in the forward pass already {}{}", text, forward, beganAt(pass, node));
}

std::string arrivedAt(const PassNumbers& pass, NodeId node)
{
    const std::string result = wrongResult(pass, node);
    return result.empty() ? std::string("the relevance that arrives is not finite") : "the relevance of " + result;
}

WrongNumber arrivedFirst(const PassNumbers& pass, NodeId node)
{
    for (const ValueId output : pass.graph.outputsOf(node)) {
        std::optional<WrongNumber> origin = output.isValid() ? originOf(pass, output) : std::nullopt;
        if (origin) {
            origin->text +=
                fmt::format("; relevance starts at \"{}\", which is not finite for it", pass.graph.value(output).name);
            return *std::move(origin);
        }
    }
    return {node, placeOf(pass, node),
            arrivedAt(pass, node) + ", and no rule made it so: it started that way, or a sum overflowed"};
}

/// The relevance that each value had in the end.
std::vector<HandleId> finalRelevance(const Run& run)
{
    std::vector<HandleId> final(run.graph->values().size());
    for (const Event& event : run.events) {
        const NodeId node = event.kind == event::EventKind::Relevance ? NodeId(event.node) : NodeId();
        const auto outputs = node.isValid() ? run.graph->outputsOf(node) : std::span<const ValueId>();
        if (event.slot < outputs.size() && outputs[event.slot].isValid()) {
            final[outputs[event.slot].index()] = HandleId(event.handle);
        }
    }
    return final;
}

} // namespace

PassNumbers numbersOf(const Run& run)
{
    const auto relevance = [&run, final = finalRelevance(run)](ValueId value) {
        const HandleId handle = final[value.index()];
        const bool isKept = handle.isValid() && handle.index() < run.tensors.size();
        return isKept ? wrongElementOf(run.tensors[handle.index()]) : std::string();
    };
    const auto forward = [&run](ValueId value) {
        const bool isKept = value.index() < run.values.size() && run.values[value.index()].isValid();
        return wrongElementOf(isKept ? run.values[value.index()] : run.graph->value(value).constant);
    };
    return {*run.graph, run.rules, run.ledger, relevance, forward};
}

std::string wrongElementOf(const Tensor& tensor)
{
    if (!isWrong(tensor)) {
        return {};
    }
    std::int64_t first = -1;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        const bool isBad = !std::isfinite(tensor.at(i));
        first = isBad && first < 0 ? i : first;
        count += isBad ? 1 : 0;
    }
    if (first < 0) {
        return {}; // finite as it is stored
    }
    const double number = tensor.at(first);
    return fmt::format("{} at [{}] ({} of {} elements {} not finite)", std::isnan(number) ? std::abs(number) : number,
                       fmt::join(tensor::indexOf(first, tensor.shape()), ", "), count, tensor.size(),
                       count == 1 ? "is" : "are");
}

const event::LedgerEntry* firstWrongRow(std::span<const event::LedgerEntry> ledger)
{
    const auto found = std::ranges::find_if(ledger, [](const event::LedgerEntry& row) {
        return !std::isfinite(row.magnitude) || !std::isfinite(row.handedOn);
    });
    return found == ledger.end() ? nullptr : &*found;
}

std::optional<WrongNumber> firstWrongNumber(const PassNumbers& pass)
{
    const event::LedgerEntry* row = firstWrongRow(pass.ledger);
    if (row == nullptr || row->node >= pass.graph.nodes().size()) {
        return std::nullopt;
    }
    const NodeId node(row->node);
    if (!std::isfinite(row->magnitude)) {
        return arrivedFirst(pass, node);
    }
    return WrongNumber{node, placeOf(pass, node), madeAt(pass, node)};
}

std::string wrongNumbersAt(const PassNumbers& pass, NodeId node)
{
    const std::string result = wrongResult(pass, node);
    return fmt::format("{}: {}", placeOf(pass, node),
                       result.empty() ? madeAt(pass, node) : "the relevance of " + result);
}

std::optional<WrongNumber> originOf(const PassNumbers& pass, ValueId value)
{
    const ValueId origin = OriginSearch(pass).find(value);
    return origin.isValid() ? std::optional(describe(pass, origin)) : std::nullopt;
}

} // namespace retro::trace
