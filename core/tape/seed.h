// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/tape.h"

#include <optional>
#include <utility>
#include <vector>

/// What a reverse pass may start with, the same for the loops and the recursion.
namespace retro::tape
{

/// One slot per id; a slot is empty where nothing arrived.
template <class V>
using Slots = std::vector<std::optional<V>>;

namespace detail
{

/// A seed of `given` values for `count` ids, which are not as many: names the first cell without a value, or the last
/// cell. `textOf(id)` names a cell.
template <class TextOf>
Fault seedCountFault(std::size_t given, std::size_t count, const TextOf& textOf)
{
    std::string place;
    if (given < count) {
        place = "; the first without one is " + textOf(static_cast<Id>(given));
    } else if (count > 0) {
        place = "; the last is " + textOf(static_cast<Id>(count - 1));
    }
    return {FaultKind::SeedCount, static_cast<Id>(count),
            fmt::format("the seed has {} values for {} ids{}; give one per id, zeros where nothing starts", given,
                        count, place)};
}

/// `cell` names the cell `id`.
template <class V>
Fault seedShapeFault(Id id, const std::string& cell, const V& seed, const V& value)
{
    using Traits = ValueTraits<V>;
    return {FaultKind::SeedShape, id,
            fmt::format("the seed of {} has shape {}, its value has {}", cell, Traits::shapeText(seed),
                        Traits::shapeText(value))};
}

/// The value that a slot holds; nullptr for an empty one.
template <class V>
const V* heldBy(const V& seed)
{
    return &seed;
}
template <class V>
const V* heldBy(const std::optional<V>& slot)
{
    return slot ? &*slot : nullptr;
}

/// Refuses seeds or slots that are not one per id, or that hold something of another shape than `valueOf(id)`.
template <class Seeds, class ValueOf, class TextOf>
Outcome<std::monostate> checkSeeds(const Seeds& seeds, std::size_t count, const ValueOf& valueOf, const TextOf& textOf)
{
    if (seeds.size() != count) {
        return seedCountFault(seeds.size(), count, textOf);
    }
    for (Id id = 0; id < count; ++id) {
        const auto& value = valueOf(id);
        const auto* held = heldBy<std::remove_cvref_t<decltype(value)>>(seeds[id]);
        if (held != nullptr && !ValueTraits<std::remove_cvref_t<decltype(value)>>::sameShape(*held, value)) {
            return seedShapeFault(id, textOf(id), *held, value);
        }
    }
    return std::monostate();
}

/// `seeds`: std::vector<V> or Slots<V>.
template <class V, class Seeds>
Outcome<std::monostate> checkSeedsOf(const Tape<V>& tape, const Seeds& seeds)
{
    return checkSeeds(
        seeds, tape.size(), [&tape](Id id) -> const V& { return tape.cell(id).value; },
        [&tape](Id id) { return cellText(id, tape.cell(id).node.name); });
}

} // namespace detail

/// Refuses a seed that has not one value of the right shape per id. Linear in ids. Faults: SeedCount, SeedShape.
template <class V>
[[nodiscard]] Outcome<std::monostate> checkSeed(const Tape<V>& tape, const std::vector<V>& seed)
{
    return detail::checkSeedsOf(tape, seed);
}

/// As checkSeed(), of what is given alone: an empty slot starts nothing.
template <class V>
[[nodiscard]] Outcome<std::monostate> checkSlots(const Tape<V>& tape, const Slots<V>& given)
{
    return detail::checkSeedsOf(tape, given);
}

} // namespace retro::tape
