// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/ruleapplication.h"

#include "core/event/observer.h"
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/reverseflops.h"
#include "core/lrp/rules/wherearrived.h"
#include "core/ops/exactsums.h"
#include "core/ops/kernel/roundnumbers.h"
#include "core/ops/lookup.h"
#include "core/ops/runoperator.h"

#include <algorithm>
#include <cmath>

namespace retro::lrp
{

std::vector<std::uint8_t> trackedSlots(const TraversalGraph& graph, NodeId node)
{
    std::vector<std::uint8_t> tracked;
    for (const ChildSlot& slot : graph.children(node)) {
        tracked.push_back(slot.child.isValid() ? 1 : 0);
    }
    return tracked;
}

namespace
{

// What tokens got, in the shape of the input that they are.
Tensor toInput(const execute::BoundModel& model, ValueId tokens, Tensor part)
{
    const execute::TokenPlaces* const places = model.tokensOf(tokens);
    return places != nullptr && part.isValid() ? places->toInput(part) : part;
}

base::ExactSum exactSum(std::span<const Tensor> tensors)
{
    base::ExactSum sum;
    for (const Tensor& each : tensors) {
        if (each.isValid()) {
            sum.add(ops::algebra::exactSum(each));
        }
    }
    return sum;
}

/// The size of what the row moved, of which rounding is a small part: parts may be large where they cancel.
double scaleOf(const event::LedgerEntry& row, std::span<const Tensor> parts)
{
    double scale = row.magnitude;
    for (const double amount : row.causes) {
        scale += std::abs(amount);
    }
    for (const Tensor& part : parts) {
        scale += part.isValid() ? ops::algebra::sumAbsolute(part) : 0;
    }
    return scale;
}

void book(event::Cause cause, double amount, event::LedgerEntry& row)
{
    row.causes[static_cast<std::size_t>(cause)] += amount;
}

/// Books what rounding left of a row in float64, where `lost` went before the rule, so that the amounts written down
/// add up however large and opposed they are.
void closeExactly(std::span<const Tensor> relevance, std::span<const Tensor> parts, double lost,
                  event::LedgerEntry& row)
{
    base::ExactSum rest = exactSum(relevance);
    rest.add(lost);
    row.arrived = rest.value();
    const base::ExactSum handedOn = exactSum(parts);
    row.handedOn = handedOn.value();
    rest.subtract(handedOn);
    for (const double amount : row.causes) {
        rest.add(-amount);
    }
    const double left = rest.value();
    if (std::abs(left) <= kRoundingDouble * row.magnitude || std::abs(left) <= kRoundingDouble * scaleOf(row, parts)) {
        book(event::Cause::Rounding, left, row);
    }
}

void closeRow(std::span<const Tensor> relevance, std::span<const Tensor> parts, double lost, event::LedgerEntry& row)
{
    const auto isDouble = [](const Tensor& each) { return each.isValid() && each.dtype() == tensor::DType::Float64; };
    if (std::ranges::any_of(relevance, isDouble)) {
        closeExactly(relevance, parts, std::isfinite(lost) ? lost : 0, row);
    } else if (std::isfinite(lost)) {
        row.arrived += lost;
        book(event::Cause::Rounding, lost, row);
    }
}

/// Unit roundoff of a type: a half step between numbers, relative to them.
double roundoffOf(tensor::DType type)
{
    switch (type) {
    case tensor::DType::BFloat16:
        return 0x1p-8;
    case tensor::DType::Float16:
        return 0x1p-11;
    case tensor::DType::Float32:
        return 0x1p-24;
    default:
        return 0;
    }
}

/// That of the results of a node, where the run rounded them to narrower types that the model has; 0 where it did not.
double roundoffOf(const execute::BoundModel& model, NodeId node)
{
    double largest = 0;
    for (const ValueId output : model.graph().node(node).outputs) {
        if (output.isValid() && model.precision() != execute::Precision::Double &&
            ops::isWiderThan(model.typeOf(output).dtype, model.numbersOf(output))) {
            largest = std::max(largest, roundoffOf(model.numbersOf(output)));
        }
    }
    return largest;
}

/// Books what is left because the result was rounded: the shares of its parts then add up to another number.
void bookRoundedResult(const execute::BoundModel& model, NodeId node, event::LedgerEntry& row)
{
    const double rest = row.unexplained();
    if (rest != 0 && std::abs(rest) <= roundoffOf(model, node) * row.magnitude) {
        book(event::Cause::Rounding, rest, row);
    }
}

} // namespace

std::string misfitOf(const Rule& rule, const execute::BoundModel& model, NodeId node)
{
    std::vector<ops::TensorType> types;
    std::vector<std::uint8_t> tracked;
    for (const execute::ValueId input : model.graph().node(node).inputs) {
        types.push_back(input.isValid() ? model.typeOf(input) : ops::TensorType{});
        tracked.push_back(input.isValid() && model.isTracked(input) ? 1 : 0);
    }
    return rule.misfit(model.op(node), types, tracked);
}

RuleSite ruleSite(const execute::BoundModel& model, NodeId node, RulePointer rule, std::vector<std::uint8_t> tracked)
{
    RuleSite site{std::move(rule), std::move(tracked), {}, {}};
    for (std::size_t slot = 0; slot < site.tracked.size(); ++slot) {
        const ValueId operand = model.graph().node(node).inputs[slot];
        site.types.push_back(operand.isValid() ? model.typeOf(operand) : ops::TensorType{});
        if (site.tracked[slot] == 0) {
            continue;
        }
        site.types.back().dtype = execute::dtypeOf(model.precision()); // relevance of tokens, which are integers
        if (ops::isTokenSlot(model.op(node).structure(), slot)) {
            site.tokenSlots.push_back(slot);
        }
    }
    return site;
}

void InputRows::add(NodeId input, NodeId reader, double lost)
{
    if (lost != 0 && std::isfinite(lost)) {
        event::LedgerEntry& row = m_rows[input];
        row.node = reader.value;
        row.handedOn = -lost;
        book(event::Cause::Rounding, lost, row);
    }
}

std::vector<event::LedgerEntry> InputRows::take(std::uint32_t visit)
{
    std::vector<event::LedgerEntry> rows;
    for (auto& [input, row] : m_rows) {
        row.visit = visit;
        rows.push_back(row);
    }
    m_rows.clear();
    return rows;
}

NodeId lastReader(std::span<const InEdge> edges)
{
    const auto hasConsumer = [](const InEdge& edge) { return edge.consumer.isValid(); };
    const auto last = std::find_if(edges.rbegin(), edges.rend(), hasConsumer);
    return last == edges.rend() ? NodeId() : last->consumer;
}

namespace
{

/// A rule that passes nothing on from the outputs at which relevance arrived (a mean beside a normalisation) has no
/// part for an operand: it gets zeros, as the traversal waits for a part.
void fillTracked(const execute::BoundModel& model, base::ValueId operand, bool isTracked, Tensor& part)
{
    if (isTracked && !part.isValid() && operand.isValid() && tensor::isFloating(model.typeOf(operand).dtype)) {
        const ops::TensorType& type = model.typeOf(operand);
        part = Tensor::zeros(type.dtype, type.shape);
    }
}

} // namespace

std::vector<Tensor> applyRule(const execute::BoundModel& model, NodeId node, const RuleSite& site,
                              std::span<const Tensor> relevance, const NodeValues& values, event::LedgerEntry* row,
                              double lost)
{
    const graph::Node& definition = model.graph().node(node);
    return base::placed([&definition] { return ops::placeOf(definition); },
                        [&] {
                            const event::NodeWatch watch(node);
                            std::vector<Tensor> parts =
                                applyWhereArrived(*site.rule, {model.op(node), values.operands, values.outputs,
                                                               relevance, site.tracked, site.types, row});
                            for (const std::size_t slot : site.tokenSlots) {
                                parts[slot] = toInput(model, definition.inputs[slot], std::move(parts[slot]));
                            }
                            for (std::size_t slot = 0; slot < parts.size(); ++slot) {
                                fillTracked(model, definition.inputs[slot], site.tracked[slot] != 0, parts[slot]);
                            }
                            if (row != nullptr) {
                                closeRow(relevance, parts, lost, *row);
                                bookRoundedResult(model, node, *row);
                            }
                            if (watch.isWatched()) {
                                watch.done(event::Half::Reverse, false, reverseFlops(model, node, site.tracked), parts);
                            }
                            return parts;
                        });
}

std::vector<Tensor> applyRule(const execute::BoundModel& model, NodeId node, const RulePointer& rule,
                              std::span<const std::uint8_t> tracked, std::span<const Tensor> relevance,
                              const NodeValues& values, event::LedgerEntry* row, double lost)
{
    return applyRule(model, node, ruleSite(model, node, rule, {tracked.begin(), tracked.end()}), relevance, values, row,
                     lost);
}

} // namespace retro::lrp
