// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/opgraph.h"

#include "core/base/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <unordered_set>

namespace retro::analysis
{

namespace
{

using base::inputError;
using base::Result;

Result<void> checkIds(const Op& op, std::span<const OpValueId> ids, std::size_t count)
{
    for (const OpValueId id : ids) {
        if (id >= count) {
            return inputError(fmt::format("reads or makes value {}, but the graph has {}", id, count), op.name);
        }
    }
    return {};
}

Result<void> checkOp(const Op& op, std::size_t valueCount)
{
    RETRO_CHECK(checkIds(op, op.inputs, valueCount));
    RETRO_CHECK(checkIds(op, op.outputs, valueCount));
    RETRO_CHECK(checkIds(op, op.savedInputs, valueCount));
    RETRO_CHECK(checkIds(op, op.savedOutputs, valueCount));
    for (const OperandPart& part : op.parts.value_or(std::vector<OperandPart>())) {
        RETRO_CHECK(checkIds(op, {&part.operand, 1}, valueCount));
        RETRO_CHECK(checkIds(op, part.reads, valueCount));
    }
    RETRO_CHECK(checkIds(op, op.parameterReads.value_or(std::vector<OpValueId>()), valueCount));
    return checkIds(op, op.hashedInputs, valueCount);
}

bool isGoodNumber(double number)
{
    return std::isfinite(number) && number >= 0 && number <= static_cast<double>(kMaxTotalBytes);
}

} // namespace

Result<OpGraph> OpGraph::make(std::vector<Op> ops, std::vector<OpValue> values)
{
    OpGraph graph;
    graph.m_ops = std::move(ops);
    graph.m_values = std::move(values);
    if (graph.m_ops.empty()) {
        return inputError("the graph has no operators; there is nothing to analyse or to plan");
    }
    RETRO_CHECK(graph.connect());
    RETRO_CHECK(graph.checkNumbers());
    graph.indexReads();
    RETRO_CHECK(graph.sort());
    return graph;
}

Result<void> OpGraph::connect()
{
    std::unordered_set<std::string_view> names;
    for (OpValue& value : m_values) {
        value.producer = kNone;
    }
    for (OpId id = 0; id < m_ops.size(); ++id) {
        const Op& op = m_ops[id];
        if (op.phase != Phase::Source && !names.insert(op.name).second) {
            return inputError("two operators have this name; plans need names that differ", op.name);
        }
        RETRO_CHECK(checkOp(op, m_values.size()));
        for (const OpValueId output : op.outputs) {
            OpValue& value = m_values[output];
            if (value.producer != kNone) {
                return inputError(fmt::format("{} and {} both make it", m_ops[value.producer].name, op.name),
                                  value.name);
            }
            value.producer = id;
        }
    }
    return {};
}

Result<void> OpGraph::checkNumbers()
{
    m_totalBytes = 0;
    for (const OpValue& value : m_values) {
        if (value.bytes > kMaxTotalBytes - m_totalBytes) {
            return inputError("the bytes of the values up to this one exceed 2^60; a size must be wrong", value.name);
        }
        m_totalBytes += value.bytes;
    }
    double cost = 0;
    for (const Op& op : m_ops) {
        cost += op.cost;
        if (!isGoodNumber(op.cost) || !isGoodNumber(op.flops) || op.workspace > kMaxTotalBytes || !isGoodNumber(cost)) {
            return inputError("its cost, operations or workspace are negative, not finite or beyond 2^60", op.name);
        }
    }
    return {};
}

void OpGraph::indexReads()
{
    std::vector<OpId> lastReader(m_values.size(), kNone);
    std::vector<std::uint32_t> counts(m_values.size(), 0);
    m_readStart.push_back(0);
    for (OpId id = 0; id < m_ops.size(); ++id) {
        for (const OpValueId input : m_ops[id].inputs) {
            if (lastReader[input] != id) {
                lastReader[input] = id;
                ++counts[input];
                m_reads.push_back(input);
            }
        }
        m_readStart.push_back(static_cast<std::uint32_t>(m_reads.size()));
    }
    m_readerStart.assign(m_values.size() + 1, 0);
    for (std::size_t i = 0; i < counts.size(); ++i) {
        m_readerStart[i + 1] = m_readerStart[i] + counts[i];
    }
    m_readers.resize(m_reads.size());
    std::vector<std::uint32_t> at(m_readerStart.begin(), m_readerStart.end() - 1);
    for (OpId id = 0; id < m_ops.size(); ++id) {
        for (const OpValueId input : reads(id)) {
            m_readers[at[input]++] = id;
        }
    }
}

Result<void> OpGraph::sort()
{
    std::vector<std::uint32_t> missing(m_ops.size(), 0);
    m_order.clear();
    for (OpId id = 0; id < m_ops.size(); ++id) {
        missing[id] = static_cast<std::uint32_t>(
            std::ranges::count_if(reads(id), [&](OpValueId input) { return m_values[input].producer != kNone; }));
        if (missing[id] == 0) {
            m_order.push_back(id);
        }
    }
    std::vector<OpId> released;
    for (std::size_t next = 0; next < m_order.size(); ++next) {
        released.clear();
        for (const OpValueId output : m_ops[m_order[next]].outputs) {
            std::ranges::copy_if(readers(output), std::back_inserter(released),
                                 [&](OpId reader) { return --missing[reader] == 0; });
        }
        std::sort(released.begin(), released.end());
        m_order.insert(m_order.end(), released.begin(), released.end());
    }
    if (m_order.size() != m_ops.size()) {
        const auto stuck = std::find_if(missing.begin(), missing.end(), [](std::uint32_t count) { return count > 0; });
        return inputError("it waits for its own result: the graph has a cycle",
                          m_ops[static_cast<std::size_t>(stuck - missing.begin())].name);
    }
    return {};
}

std::span<const OpId> OpGraph::readers(OpValueId value) const
{
    return std::span(m_readers).subspan(m_readerStart[value], m_readerStart[value + 1] - m_readerStart[value]);
}

bool OpGraph::isReadByGradient(OpValueId value) const
{
    return std::ranges::any_of(readers(value), [&](OpId reader) { return op(reader).phase == Phase::Gradient; });
}

std::span<const OpValueId> OpGraph::reads(OpId op) const
{
    return std::span(m_reads).subspan(m_readStart[op], m_readStart[op + 1] - m_readStart[op]);
}

std::uint64_t OpGraph::outputBytes(OpId op, bool countsPinned) const
{
    std::uint64_t bytes = 0;
    for (const OpValueId output : m_ops[op].outputs) {
        bytes += m_values[output].isPinned && !countsPinned ? 0 : m_values[output].bytes;
    }
    return bytes;
}

OpId OpGraph::findOp(std::string_view name) const
{
    const auto at = std::find_if(m_ops.begin(), m_ops.end(), [&](const Op& op) {
        return op.phase != Phase::Source && op.name == name; // inputs are values; no plan names them
    });
    return at == m_ops.end() ? kNone : static_cast<OpId>(at - m_ops.begin());
}

std::uint64_t OpGraph::hash() const
{
    base::Hasher hasher;
    for (const OpValue& value : m_values) {
        hasher.text(value.name);
        hasher.number(value.bytes);
        hasher.number((value.isPinned ? 1U : 0U) | (value.isRequired ? 2U : 0U));
    }
    for (const Op& op : m_ops) {
        hasher.text(op.name);
        hasher.number(std::bit_cast<std::uint64_t>(op.cost));
        hasher.number(op.workspace);
        hasher.number(static_cast<std::uint64_t>(op.phase) | (op.mayRepeat() ? 16U : 0U));
        const std::vector<OpValueId>& inputs = op.hashedInputs.empty() ? op.inputs : op.hashedInputs;
        hasher.number(inputs.size());
        std::ranges::for_each(inputs, [&](OpValueId id) { hasher.number(id); });
        hasher.number(op.outputs.size());
        std::ranges::for_each(op.outputs, [&](OpValueId id) { hasher.number(id); });
    }
    return hasher.digest();
}

} // namespace retro::analysis
