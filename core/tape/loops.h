// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/contributions.h"
#include "core/tape/seed.h"

namespace retro::tape
{

/// What a loop tells about each rule that ran. Called on the loop's thread.
template <class V>
class Watcher
{
public:
    virtual ~Watcher() = default;
    /// When the rule of cell `id` has turned `upstream` into `contributions`, before they are added.
    virtual void onCell(Id id, const V& upstream, const std::vector<Contribution<V>>& contributions) = 0;
    /// When the part of cell `id` for `parent` was added to the slot of that one.
    virtual void onSlot(Id /*id*/, Id /*parent*/, const V& /*slot*/) {}
};

/// The dense reverse loop: slots start as the seed, ids are visited in strictly decreasing order, every rule of a
/// tracked cell runs, and each part is added on the right of what its slot holds. So slot p holds its seed, then the
/// parts of its readers in decreasing id. Returns the slots. Faults: SeedCount, SeedShape, and those of
/// contributionsOf().
template <class V>
[[nodiscard]] Outcome<std::vector<V>> denseLoop(const Tape<V>& tape, std::vector<V> seed, Watcher<V>* watcher = nullptr)
{
    RETRO_CHECK(checkSeed(tape, seed));
    std::vector<V> accumulated = std::move(seed);
    for (Id id = static_cast<Id>(tape.size()); id-- > 0;) {
        if (!tape.cell(id).isTracked || tape.isLeaf(id)) {
            continue;
        }
        RETRO_TRY(const std::vector<Contribution<V>> list, contributionsOf(tape, id, accumulated[id]));
        if (watcher != nullptr) {
            watcher->onCell(id, accumulated[id], list);
        }
        for (const Contribution<V>& part : list) {
            accumulated[part.parent] = ValueTraits<V>::add(accumulated[part.parent], part.value);
            if (watcher != nullptr) {
                watcher->onSlot(id, part.parent, accumulated[part.parent]);
            }
        }
    }
    return accumulated;
}

/// Which slots are kept when their cell has run; per id, empty = all.
using Kept = std::vector<std::uint8_t>;

/// Adds the parts of a cell to the slots of its operands, one by one; the first part of an empty slot is what it holds.
template <class V>
void addParts(Slots<V>& accumulated, Id id, std::vector<Contribution<V>>& list, Watcher<V>* watcher)
{
    for (Contribution<V>& part : list) {
        std::optional<V>& slot = accumulated[part.parent];
        slot = slot ? ValueTraits<V>::add(*slot, part.value) : std::move(part.value);
        if (watcher != nullptr) {
            watcher->onSlot(id, part.parent, *slot);
        }
    }
}

/// The loop that a user runs: only slots that something reached take part. `accumulated` start as the seed, empty =
/// none. Slots that `kept` does not name are emptied as soon as their rule has run. Equals the dense loop where every
/// rule maps a zero upstream to zeros (empty = zero). Faults: SeedCount, SeedShape, and those of contributionsOf().
template <class V>
[[nodiscard]] Outcome<Slots<V>> skippingLoop(const Tape<V>& tape, Slots<V> accumulated, Watcher<V>* watcher = nullptr,
                                             const Kept& kept = {})
{
    RETRO_CHECK(checkSlots(tape, accumulated));
    for (Id id = static_cast<Id>(tape.size()); id-- > 0;) {
        if (!accumulated[id] || !tape.cell(id).isTracked || tape.isLeaf(id)) {
            continue;
        }
        RETRO_TRY(std::vector<Contribution<V>> list, contributionsOf(tape, id, *accumulated[id]));
        if (watcher != nullptr) {
            watcher->onCell(id, *accumulated[id], list);
        }
        addParts(accumulated, id, list, watcher);
        if (!kept.empty() && kept[id] == 0) {
            accumulated[id].reset();
        }
    }
    return accumulated;
}

/// Empty slots become zeros.
template <class V>
[[nodiscard]] std::vector<V> filled(const Tape<V>& tape, Slots<V> accumulated)
{
    std::vector<V> all;
    all.reserve(accumulated.size());
    for (Id id = 0; id < accumulated.size(); ++id) {
        all.push_back(accumulated[id] ? std::move(*accumulated[id]) : ValueTraits<V>::zeroLike(tape.cell(id).value));
    }
    return all;
}

/// Zeros for every id but `id`, which gets `value`.
template <class V>
[[nodiscard]] std::vector<V> oneSeed(const Tape<V>& tape, Id id, V value)
{
    Slots<V> accumulated(tape.size());
    accumulated[id] = std::move(value);
    return filled(tape, std::move(accumulated));
}

/// The reverse rule of a cell answers a zero upstream with zeros alone, by equality of values: what makes the skipping
/// loop sound. Faults: RuleFailed and the like.
template <class V>
[[nodiscard]] Outcome<bool> preservesZero(const Tape<V>& tape, Id id)
{
    const V zero = ValueTraits<V>::zeroLike(tape.cell(id).value);
    RETRO_TRY(const std::vector<Contribution<V>> list, contributionsOf(tape, id, zero));
    return std::all_of(list.begin(), list.end(), [&tape](const Contribution<V>& part) {
        return part.value == ValueTraits<V>::zeroLike(tape.cell(part.parent).value);
    });
}

} // namespace retro::tape
