// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/gradientreach.h"

#include <algorithm>

namespace retro::analysis
{

namespace
{

void setBit(std::vector<std::uint64_t>& row, std::size_t at) { row[at / 64] |= 1ULL << (at % 64); }
bool bit(const std::vector<std::uint64_t>& row, std::size_t at) { return (row[at / 64] >> (at % 64) & 1U) != 0; }

void unite(std::vector<std::uint64_t>& row, const std::vector<std::uint64_t>& other)
{
    for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] |= other[i];
    }
}

} // namespace

GradientReach::GradientReach(const OpGraph& joint, std::size_t most) : m_rank(joint.size(), kNone)
{
    for (OpId op = 0; op < joint.size(); ++op) {
        if (joint.op(op).phase == Phase::Gradient) {
            m_rank[op] = static_cast<std::uint32_t>(m_gradients.size());
            m_gradients.push_back(op);
        }
    }
    if (m_gradients.size() > most) {
        m_gradients.clear();
        return;
    }
    m_waiting.assign(m_gradients.size(), 0);
    findReach(joint);
    for (const OpId op : m_gradients) {
        for (const OpValueId output : joint.op(op).outputs) {
            addWaiting(joint, output);
        }
    }
}

void GradientReach::findReach(const OpGraph& joint)
{
    const Row empty((m_gradients.size() + 63) / 64, 0);
    m_before.assign(m_gradients.size(), empty);
    m_after.assign(m_gradients.size(), empty);
    for (const OpId op : joint.order()) {
        if (m_rank[op] == kNone) {
            continue;
        }
        for (const OpValueId input : joint.reads(op)) {
            const OpId producer = joint.value(input).producer;
            if (producer != kNone && m_rank[producer] != kNone) {
                unite(m_before[m_rank[op]], m_before[m_rank[producer]]);
                setBit(m_before[m_rank[op]], m_rank[producer]);
            }
        }
    }
    for (std::size_t i = 0; i < m_gradients.size(); ++i) {
        for (std::size_t j = 0; j < m_gradients.size(); ++j) {
            if (bit(m_before[i], j)) {
                setBit(m_after[j], i);
            }
        }
    }
}

void GradientReach::addWaiting(const OpGraph& joint, OpValueId value)
{
    const std::uint32_t maker = m_rank[joint.value(value).producer];
    Row between(m_before.front().size(), 0);
    for (const OpId reader : joint.readers(value)) {
        if (m_rank[reader] != kNone) {
            unite(between, m_before[m_rank[reader]]);
        }
    }
    for (std::size_t i = 0; i < m_gradients.size(); ++i) {
        const auto readers = joint.readers(value);
        const bool readsItself = std::binary_search(readers.begin(), readers.end(), m_gradients[i]);
        if (bit(between, i) && bit(m_after[maker], i) && !readsItself) {
            m_waiting[i] += joint.value(value).bytes;
        }
    }
}

} // namespace retro::analysis
