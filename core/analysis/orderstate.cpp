// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/orderstate.h"

#include <algorithm>

namespace retro::analysis
{

OrderState::OrderState(const OpGraph& graph)
    : m_graph(&graph), m_missing(graph.size(), 0), m_readersLeft(graph.values().size(), 0),
      m_isDone(graph.size(), false), m_readyAt(graph.size(), kNone)
{
    for (OpId op = 0; op < graph.size(); ++op) {
        for (const OpValueId input : graph.reads(op)) {
            m_missing[op] += graph.value(input).producer != kNone ? 1 : 0;
            ++m_readersLeft[input];
        }
        if (m_missing[op] == 0) {
            m_readyAt[op] = static_cast<std::uint32_t>(m_ready.size());
            m_ready.push_back(op);
        }
    }
}

std::uint64_t OrderState::transientOf(OpId op) const
{
    return m_live + m_graph->outputBytes(op, true) + m_graph->op(op).workspace;
}

std::uint64_t OrderState::keptBytes(OpId op) const
{
    std::uint64_t bytes = 0;
    for (const OpValueId output : m_graph->op(op).outputs) {
        const OpValue& value = m_graph->value(output);
        bytes += value.isOutput || value.isRequired || m_readersLeft[output] > 0 ? value.bytes : 0;
    }
    return bytes;
}

std::uint64_t OrderState::freedBytes(OpId op) const
{
    std::uint64_t bytes = 0;
    for (const OpValueId input : m_graph->reads(op)) {
        const OpValue& value = m_graph->value(input);
        const bool goes = value.producer != kNone && !value.isOutput && !value.isRequired && m_readersLeft[input] == 1;
        bytes += goes ? value.bytes : 0;
    }
    return bytes;
}

void OrderState::release(OpValueId output, std::vector<OpId>* changed)
{
    for (const OpId reader : m_graph->readers(output)) {
        if (--m_missing[reader] == 0) {
            m_readyAt[reader] = static_cast<std::uint32_t>(m_ready.size());
            m_ready.push_back(reader);
            if (changed != nullptr) {
                changed->push_back(reader);
            }
        }
    }
}

void OrderState::noteLastReader(OpValueId value, std::vector<OpId>* changed) const
{
    if (changed == nullptr || m_readersLeft[value] != 1) {
        return;
    }
    const auto readers = m_graph->readers(value);
    const auto last = std::find_if(readers.begin(), readers.end(), [&](OpId reader) { return !m_isDone[reader]; });
    if (last != readers.end() && m_readyAt[*last] != kNone) {
        changed->push_back(*last);
    }
}

void OrderState::run(OpId op, std::vector<OpId>* changed)
{
    m_peak = std::max(m_peak, transientOf(op));
    m_live = liveAfter(op);
    m_peakLive = std::max(m_peakLive, m_live);
    m_isDone[op] = true;
    m_order.push_back(op);
    const std::uint32_t at = m_readyAt[op];
    m_ready[at] = m_ready.back();
    m_readyAt[m_ready[at]] = at;
    m_ready.pop_back();
    m_readyAt[op] = kNone;
    for (const OpValueId input : m_graph->reads(op)) {
        --m_readersLeft[input];
        noteLastReader(input, changed);
    }
    for (const OpValueId output : m_graph->op(op).outputs) {
        release(output, changed);
    }
}

} // namespace retro::analysis
