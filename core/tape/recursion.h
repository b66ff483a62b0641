// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/failure.h"
#include "core/tape/contributions.h"
#include "core/tape/seed.h"

#include <functional>

/// The definitions that the tape and its loops are compared with. Written as definitions, not
/// to be fast: a contribution for every earlier id, one level of recursion per node.
namespace retro::tape
{

/// eval(nil, x) = x; eval(g·n, x) = let c = eval(g, x) in c ++ [n.forward(c)]. Faults: ForwardFailed, LaterParent.
template <class V>
[[nodiscard]] Outcome<std::vector<V>> evaluate(std::span<const Node<V>> nodes, const std::vector<V>& leaves,
                                               const Payload<V>& payload)
{
    std::vector<V> context = leaves;
    for (const Node<V>& node : nodes) {
        const Id id = static_cast<Id>(context.size());
        RETRO_CHECK(checkParents(node, id));
        std::vector<const V*> operands;
        for (const Id parent : node.parents) {
            operands.push_back(&context[parent]);
        }
        base::Result<V> value = node.op->forward(operands, payload);
        if (!value.ok()) {
            return Fault{FaultKind::ForwardFailed, id, cellText(id, node.name) + ": " + value.error().text()};
        }
        context.push_back(std::move(value).value());
    }
    return context;
}

/// Whether the recursion adds zeros for ids that are no operand: the definition does; leaving them out is the same but
/// for −0 + 0, and then loop and recursion agree bit for bit.
enum class Zeros : std::uint8_t { Added, LeftOut };

/// What the recursion works on. Borrowed.
template <class V>
struct Definition
{
    std::span<const V> context; ///< the values of leaves and all nodes, as evaluate() gives them
    const Payload<V>& payload;
    Zeros zeros = Zeros::Added;
    std::span<const std::uint8_t> tracked = {}; ///< per id; empty = all
    /// When a node was taken off and its parts were added to the rest of the seed; may be empty.
    std::function<void(Id, const std::vector<V>& rest)> onPeeled = {};

    /// False where no part may go.
    [[nodiscard]] bool isTracked(std::size_t id) const { return tracked.empty() || tracked[id] != 0; }
};

namespace detail
{

/// The full contribution vector of the node `id`: one entry for every earlier id; empty where it is no operand.
template <class V>
Outcome<std::vector<std::optional<V>>> fullContribution(const Node<V>& node, std::size_t id, const Definition<V>& about,
                                                        const V& upstream)
{
    std::vector<const V*> operands;
    std::vector<std::uint8_t> wanted;
    for (const Id parent : node.parents) {
        operands.push_back(&about.context[parent]);
        wanted.push_back(about.isTracked(parent) ? 1 : 0);
    }
    base::Result<Parts<V>> parts = node.op->reverse({operands, about.context[id], about.payload, wanted}, upstream);
    if (!parts.ok()) {
        return Fault{FaultKind::RuleFailed, static_cast<Id>(id),
                     cellText(static_cast<Id>(id), node.name) + ": " + parts.error().text()};
    }
    if (parts->size() != node.parents.size()) {
        return partCountFault(static_cast<Id>(id), node, parts->size());
    }
    std::vector<std::optional<V>> full(id);
    for (std::size_t slot = 0; slot < node.parents.size(); ++slot) {
        const Id parent = node.parents[slot];
        const std::optional<V>& part = (*parts)[slot];
        if (!part || wanted[slot] == 0) {
            continue;
        }
        if (!ValueTraits<V>::sameShape(*part, about.context[parent])) {
            return partShapeFault(static_cast<Id>(id), cellText(static_cast<Id>(id), node.name), cellText(parent, ""),
                                  *part, about.context[parent]);
        }
        full[parent] = full[parent] ? ValueTraits<V>::add(*full[parent], *part) : *part;
    }
    return full;
}

template <class V>
void addPointwise(std::vector<V>& seed, const std::vector<std::optional<V>>& full, Zeros zeros)
{
    for (std::size_t id = 0; id < seed.size(); ++id) {
        if (full[id]) {
            seed[id] = ValueTraits<V>::add(seed[id], *full[id]);
        } else if (zeros == Zeros::Added) {
            seed[id] = ValueTraits<V>::add(seed[id], ValueTraits<V>::zeroLike(seed[id]));
        }
    }
}

/// The name of the cell `id`; leaves have none here.
template <class V>
std::string cellTextIn(std::span<const Node<V>> nodes, std::size_t leafCount, Id id)
{
    return cellText(id, id < leafCount ? std::string() : nodes[id - leafCount].name);
}

/// Refuses nodes that read what is not earlier, and seeds that do not fit the context.
template <class V>
Outcome<std::monostate> checkStart(std::span<const Node<V>> nodes, const Definition<V>& about,
                                   const std::vector<V>& seed)
{
    base::guard(nodes.size() <= about.context.size(), "there is a value for each node");
    base::guard(about.tracked.empty() || about.tracked.size() == about.context.size(), "a mask has an entry per value");
    const std::size_t leafCount = about.context.size() - nodes.size();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        RETRO_CHECK(checkParents(nodes[i], static_cast<Id>(leafCount + i)));
    }
    return checkSeeds(
        seed, about.context.size(), [&about](Id id) -> const V& { return about.context[id]; },
        [nodes, leafCount](Id id) { return cellTextIn(nodes, leafCount, id); });
}

/// recursion() of what checkStart() let pass.
template <class V>
Outcome<std::vector<V>> peeled(std::span<const Node<V>> nodes, const Definition<V>& about, std::vector<V> seed)
{
    if (nodes.empty()) {
        return seed;
    }
    V last = std::move(seed.back());
    seed.pop_back();
    if (about.isTracked(seed.size())) {
        RETRO_TRY(const auto full, fullContribution(nodes.back(), seed.size(), about, last));
        addPointwise(seed, full, about.zeros);
    }
    if (about.onPeeled) {
        about.onPeeled(static_cast<Id>(seed.size()), seed);
    }
    RETRO_TRY(std::vector<V> all, peeled(nodes.first(nodes.size() - 1), about, std::move(seed)));
    all.push_back(std::move(last));
    return all;
}

} // namespace detail

/// Peels the last node: its upstream is the last entry of the seed, its full contribution is added pointwise to the
/// rest, and the rest of the graph goes on with that. Returns one gradient per id. Quadratic in nodes; one level of
/// recursion per node. Faults: LaterParent, SeedCount, SeedShape, RuleFailed, ContributionCount, ContributionShape.
template <class V>
[[nodiscard]] Outcome<std::vector<V>> recursion(std::span<const Node<V>> nodes, const Definition<V>& about,
                                                std::vector<V> seed)
{
    RETRO_CHECK(detail::checkStart(nodes, about, seed));
    return detail::peeled(nodes, about, std::move(seed));
}

} // namespace retro::tape
