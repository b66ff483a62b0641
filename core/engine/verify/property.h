// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace retro::engine
{

/// What became of a property that was checked.
enum class PropertyState { Held, Violated, NotApplicable };

/// "held", "violated", "not applicable".
[[nodiscard]] std::string nameOf(PropertyState state);

/// A property of the tape (docs/tape.md) on a user's graph.
struct PropertyResult
{
    std::string id;        ///< "P5"
    std::string statement; ///< what it says
    PropertyState state = PropertyState::Held;
    std::string detail;    ///< what was compared; the smallest counterexample found; why it does not apply
    std::string node = {}; ///< the node (or graph input) that the detail is about; empty = the whole graph
};

using PropertyResults = std::vector<PropertyResult>;

/// What shows that a property does not hold; an empty text = nothing was found.
struct Counterexample
{
    std::string text;
    std::string node = {}; ///< where; empty = the whole graph
};

/// Held when `counterexample` is empty; the detail is then `compared`.
[[nodiscard]] PropertyResult judged(std::string id, std::string statement, const Counterexample& counterexample,
                                    std::string compared);

} // namespace retro::engine
