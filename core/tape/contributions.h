// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/tape.h"

#include <algorithm>

namespace retro::tape
{

/// What one cell adds to the slot of one of its parents.
template <class V>
struct Contribution
{
    Id parent = 0;
    V value;
};

namespace detail
{

/// `cell` and `operand` are texts that name them.
template <class V>
Fault partShapeFault(Id id, const std::string& cell, const std::string& operand, const V& part, const V& value)
{
    using Traits = ValueTraits<V>;
    return {FaultKind::ContributionShape, id,
            fmt::format("{}: its reverse rule gave operand {} a part of shape {} for a value of shape {}", cell,
                        operand, Traits::shapeText(part), Traits::shapeText(value))};
}

template <class V>
Fault partCountFault(Id id, const Node<V>& node, std::size_t parts)
{
    return {FaultKind::ContributionCount, id,
            fmt::format("{}: its reverse rule gave {} parts for {} operands", cellText(id, node.name), parts,
                        node.parents.size())};
}

/// Parts per slot → at most one entry per parent, ascending; parts of one parent are added in slot order.
template <class V>
Outcome<std::vector<Contribution<V>>> joined(const Tape<V>& tape, Id id, Parts<V> parts)
{
    const std::vector<Id>& parents = tape.cell(id).node.parents;
    std::vector<std::size_t> order;
    order.reserve(parents.size());
    for (std::size_t slot = 0; slot < parents.size(); ++slot) {
        if (!parts[slot] || !tape.cell(parents[slot]).isTracked) {
            continue;
        }
        if (!ValueTraits<V>::sameShape(*parts[slot], tape.cell(parents[slot]).value)) {
            const Cell<V>& operand = tape.cell(parents[slot]);
            return partShapeFault(id, cellText(id, tape.cell(id).node.name), cellText(parents[slot], operand.node.name),
                                  *parts[slot], operand.value);
        }
        order.push_back(slot);
    }
    if (order.size() > 1) {
        std::stable_sort(order.begin(), order.end(),
                         [&parents](std::size_t a, std::size_t b) { return parents[a] < parents[b]; });
    }
    std::vector<Contribution<V>> list;
    list.reserve(order.size());
    for (const std::size_t slot : order) {
        if (!list.empty() && list.back().parent == parents[slot]) {
            list.back().value = ValueTraits<V>::add(list.back().value, *parts[slot]);
        } else {
            list.push_back({parents[slot], std::move(*parts[slot])});
        }
    }
    return list;
}

} // namespace detail

/// What cell `id` sends back for `upstream`: at most one entry per distinct tracked parent, parents ascending, the
/// parts of a repeated operand added first, in operand order. Leaves send nothing. Faults: UpstreamShape,
/// ContributionShape, ContributionCount, RuleFailed.
template <class V>
[[nodiscard]] Outcome<std::vector<Contribution<V>>> contributionsOf(const Tape<V>& tape, Id id, const V& upstream)
{
    const Cell<V>& cell = tape.cell(id);
    if (tape.isLeaf(id)) {
        return std::vector<Contribution<V>>();
    }
    if (!ValueTraits<V>::sameShape(upstream, cell.value)) {
        return Fault{FaultKind::UpstreamShape, id,
                     fmt::format("{}: what arrived has shape {}, its value has {}", cellText(id, cell.node.name),
                                 ValueTraits<V>::shapeText(upstream), ValueTraits<V>::shapeText(cell.value))};
    }
    std::vector<std::uint8_t> wanted;
    wanted.reserve(cell.node.parents.size());
    for (const Id parent : cell.node.parents) {
        wanted.push_back(tape.cell(parent).isTracked ? 1 : 0);
    }
    base::Result<Parts<V>> parts =
        cell.node.op->reverse({operandsOf(tape, cell.node), cell.value, tape.payload(), wanted}, upstream);
    if (!parts.ok()) {
        return Fault{FaultKind::RuleFailed, id, cellText(id, cell.node.name) + ": " + parts.error().text()};
    }
    if (parts->size() != cell.node.parents.size()) {
        return detail::partCountFault(id, cell.node, parts->size());
    }
    return detail::joined(tape, id, std::move(parts).value());
}

} // namespace retro::tape
