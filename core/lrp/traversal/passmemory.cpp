// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/passmemory.h"

#include "core/lrp/rules/decomposedrule.h"

#include <algorithm>

namespace retro::lrp
{

namespace
{

bool isSame(const Tensor& a, const Tensor& b)
{
    return a.storage() == b.storage() && a.offset() == b.offset() && a.dtype() == b.dtype() && a.shape() == b.shape() &&
           a.strides() == b.strides();
}

bool areSame(std::span<const Tensor> a, std::span<const Tensor> b) { return std::ranges::equal(a, b, isSame); }

std::int64_t bytesOf(std::span<const Tensor> tensors)
{
    std::int64_t bytes = 0;
    for (const Tensor& each : tensors) {
        bytes += each.isValid() ? each.bytes() : 0;
    }
    return bytes;
}

} // namespace

const PassMemory::Applied* PassMemory::find(NodeId node, const RulePointer& rule, std::span<const Tensor> arrived)
{
    const auto at = m_rules.find(node);
    const bool isHere =
        at != m_rules.end() && areSame(at->second.arrived, arrived) && isSameRule(*at->second.rule, *rule);
    ++(isHere ? m_reused : m_applied);
    return isHere ? &at->second : nullptr;
}

void PassMemory::keep(NodeId node, Applied applied)
{
    if (const auto old = m_rules.find(node); old != m_rules.end()) {
        m_bytes -= bytesOf(old->second.shares);
        m_rules.erase(old);
    }
    if (takes(bytesOf(applied.shares))) {
        m_rules.emplace(node, std::move(applied));
    }
}

const PassMemory::Added* PassMemory::find(NodeId node, std::uint32_t k, const Summands& summands) const
{
    const auto at = m_sums.find({node, k});
    const bool isHere = at != m_sums.end() && areSame(at->second.summands.parts, summands.parts) &&
                        at->second.summands.joined == summands.joined;
    return isHere ? &at->second : nullptr;
}

void PassMemory::keep(NodeId node, std::uint32_t k, Added added)
{
    if (const auto old = m_sums.find({node, k}); old != m_sums.end()) {
        m_bytes -= old->second.total.bytes();
        m_sums.erase(old);
    }
    if (takes(added.total.bytes())) {
        m_sums.emplace(std::pair{node, k}, std::move(added));
    }
}

Tensor PassMemory::value(ValueId id) const
{
    const auto at = m_values.find(id);
    return at == m_values.end() ? Tensor() : at->second;
}

void PassMemory::keep(ValueId id, const Tensor& value)
{
    if (id.isValid() && !m_values.contains(id) && takes(value.bytes())) {
        m_values.emplace(id, value);
    }
}

bool PassMemory::takes(std::int64_t bytes)
{
    const bool fits = m_bytes + bytes <= m_mostBytes;
    m_bytes += fits ? bytes : 0;
    return fits;
}

} // namespace retro::lrp
