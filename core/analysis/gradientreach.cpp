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
        if (m_rank[op] != kNone) {
            findBefore(joint, op);
        }
    }
    const std::size_t count = m_gradients.size();
    for (std::size_t pair = 0; pair < count * count; ++pair) {
        if (bit(m_before[pair / count], pair % count)) {
            setBit(m_after[pair % count], pair / count);
        }
    }
}

void GradientReach::findBefore(const OpGraph& joint, OpId op)
{
    Row& before = m_before[m_rank[op]];
    for (const OpValueId input : joint.reads(op)) {
        const OpId producer = joint.value(input).producer;
        const std::uint32_t earlier = producer == kNone ? kNone : m_rank[producer];
        if (earlier != kNone) {
            unite(before, m_before[earlier]);
            setBit(before, earlier);
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
