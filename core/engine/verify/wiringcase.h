// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/model/modeltape.h"

#include <functional>
#include <string>
#include <vector>

namespace retro::engine
{

/// Who reads whom on a tape, without what operators compute: leaves first, then one entry per node.
struct WiringCase
{
    std::size_t leaves = 0;
    std::vector<std::vector<tape::Id>> parents; ///< per node; earlier ids alone
    std::vector<std::string> names;             ///< per id
    tape::Id target = 0;                        ///< where a reverse pass starts

    [[nodiscard]] std::size_t size() const { return leaves + parents.size(); }
    /// "c = f(b, x), b = f(x); from c": nodes from the last to the first, at most a dozen.
    [[nodiscard]] std::string text() const;
};

/// The wiring of a model's tape.
[[nodiscard]] WiringCase wiringOf(const tape::ModelTape& made, tape::Id target);

/// What is wrong with a case; empty = nothing.
using WrongWiring = std::function<std::string(const WiringCase&)>;

/// A wrong case made as small as it stays wrong: the target moved to earlier nodes, nodes that the target does not
/// reach taken away, nodes replaced by their first operand, operands left out. `wrong` must answer the same when asked
/// again. Tries at most a few thousand cases.
[[nodiscard]] WiringCase smallestCase(WiringCase start, const WrongWiring& wrong);

} // namespace retro::engine
