// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/smallertape.h"

#include "core/engine/verify/reversecourse.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;
using tape::Bundle;
using tape::Id;
using tape::ModelTape;
using tensor::Tensor;

namespace
{

constexpr std::size_t kMostTargets = 64;

/// The tape up to a cell, that one included.
ModelTape prefixOf(const ModelTape& made, Id last)
{
    std::vector<tape::Cell<Bundle>> cells;
    for (Id id = 0; id <= last; ++id) {
        cells.push_back(made.tape.cell(id));
    }
    ModelTape prefix;
    prefix.model = made.model;
    prefix.tape = tape::Tape<Bundle>(std::move(cells), made.tape.leafCount(), made.tape.payload());
    prefix.idOf = made.idOf;
    std::ranges::replace_if(
        prefix.idOf, [last](Id id) { return id > last; }, ModelTape::kNowhere);
    prefix.valueOf.assign(made.valueOf.begin(), made.valueOf.begin() + last + 1);
    prefix.nodeOf.assign(made.nodeOf.begin(), made.nodeOf.begin() + last + 1);
    return prefix;
}

/// Cells from which a smaller case may start: the readers of the slot that differs, then all from the first on.
std::vector<Id> smallerTargets(const ModelTape& made, Id target, Id slot)
{
    std::vector<Id> all;
    for (const bool isReader : {true, false}) {
        for (auto id = static_cast<Id>(made.tape.leafCount()); id < target && all.size() < kMostTargets; ++id) {
            const std::vector<Id>& parents = made.tape.cell(id).node.parents;
            const bool reads = std::ranges::find(parents, slot) != parents.end();
            if (reads == isReader && made.valueOf[id].isValid() && made.tape.cell(id).isTracked) {
                all.push_back(id);
            }
        }
    }
    return all;
}

} // namespace

Counterexample withSmallest(const ModelTape& made, Id target, Counterexample found, const DiffersFrom& differs)
{
    const auto isNamed = [&](Id id) { return nodeAt(made, id) == found.node; };
    Id slot = 0;
    while (slot < target && !isNamed(slot)) {
        ++slot;
    }
    for (const Id id : found.text.empty() ? std::vector<Id>() : smallerTargets(made, target, slot)) {
        const Tensor& value = made.tape.cell(id).value.only();
        const Result<Counterexample> smaller =
            differs(prefixOf(made, id), id, Tensor::full(value.dtype(), value.shape(), 1));
        if (smaller.ok() && !smaller->text.empty()) {
            return {fmt::format("{}; smallest case: from ones at {}, {}", found.text, made.nameOf(id), smaller->text),
                    smaller->node};
        }
    }
    return found;
}

} // namespace retro::engine
