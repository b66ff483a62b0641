// SPDX-License-Identifier: Apache-2.0
#include "core/engine/region/recordedhistory.h"

#include "core/engine/compare/compare.h"
#include "core/engine/region/historyplace.h"
#include "core/lrp/rules/ruleformulas.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::engine
{

namespace
{

double sumAt(const tensor::Tensor& tensor, const std::vector<std::int64_t>& elements)
{
    double sum = 0;
    for (const std::int64_t element : elements) {
        sum += tensor.at(element);
    }
    return sum;
}

/// Indices along all axes of an element in row-major order.
std::vector<std::int64_t> indexOf(const tensor::Shape& shape, std::int64_t flat)
{
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        index[axis] = shape[axis] == 0 ? 0 : flat % shape[axis];
        flat = shape[axis] == 0 ? 0 : flat / shape[axis];
    }
    return index;
}

/// The elements of a value, each in whole; `sum` is that of their relevance.
HistoryRow wholeRow(base::ValueId value, const tensor::Tensor& own, const std::vector<std::int64_t>& elements,
                    double sum)
{
    HistoryRow row;
    row.value = value;
    row.sum = sum;
    row.isWhole = true;
    row.elements = static_cast<std::int64_t>(elements.size());
    for (const std::int64_t element : elements) {
        const double part = own.at(element);
        row.magnitude += std::abs(part);
        row.largest.push_back({indexOf(own.shape(), element), part, 1, part});
    }
    return row;
}

/// True where a part of a tensor of `shape` landed, and the run kept it.
bool isPartOf(const trace::Run& run, const event::Event& event, const tensor::Shape& shape)
{
    return event.kind == event::EventKind::Land && event.handle < run.tensors.size() &&
           run.tensors[event.handle].isValid() && run.tensors[event.handle].shape() == shape &&
           event.other < run.graph->nodeCount();
}

HistoryLastStep recordedLastStep(const trace::Run& run, const event::Event& event,
                                 const std::vector<std::int64_t>& elements)
{
    const double part = sumAt(run.tensors[event.handle], elements);
    const base::NodeId from(event.other);
    HistoryLastStep last{from, {}, {}, {}, {}, part, part};
    if (from.index() < run.rules.size()) {
        last.rule = run.rules[from.index()].rule;
        last.formula = lrp::formulaOf(last.rule, run.rules[from.index()].structure);
    }
    return last;
}

} // namespace

base::Result<History> recordedHistory(const trace::Run& run, const HistoryPlace& place)
{
    const graph::Graph& graph = *run.graph;
    RETRO_TRY(const base::ValueId value, historyValue(run, place));
    const std::vector<tensor::Tensor> relevance = finalRelevance(run);
    const tensor::Tensor& own = relevance[value.index()];
    if (!own.isValid()) {
        return base::inputError(
            fmt::format("the run has no relevance of \"{}\": none reached it, or it was not kept", place.value));
    }
    const std::vector<std::int64_t> elements = elementsAt(own.shape(), place.index);
    if (elements.empty()) {
        return base::usageError(fmt::format("the value is {}, which has no such place", tensor::toText(own.shape())),
                                "--history " + place.value);
    }
    History history{value, place.index, sumAt(own, elements), 0, {}, {}, 0, 0};
    if (run.facts.targetValue.isValid() && relevance[run.facts.targetValue.index()].isValid()) {
        history.start = ops::algebra::sum(relevance[run.facts.targetValue.index()]);
    }
    HistoryRow row = wholeRow(value, own, elements, history.relevance);
    row.node = graph.nodeOf(value);
    const auto& outputs = graph.outputsOf(row.node);
    for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
        const event::Event& event = run.events[step];
        if (event.node != row.node.value) {
            continue;
        }
        if (event.kind == event::EventKind::Relevance && event.slot < outputs.size() && outputs[event.slot] == value) {
            row.step = step;
        }
        if (isPartOf(run, event, own.shape())) {
            history.last.push_back(recordedLastStep(run, event, elements));
        }
    }
    history.rows.push_back(std::move(row));
    return history;
}

} // namespace retro::engine
