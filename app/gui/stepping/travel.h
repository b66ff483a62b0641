// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/breakpoints.h"
#include "core/trace/runstate.h"
#include "views/common/selection.h"

#include <cstdint>
#include <optional>

namespace retro::app
{

/// A place in time to go to from a position; nothing when there is none in that direction. Pure functions over a
/// recorded run; `state` is the state at `position`.
using Destination = std::optional<std::uint64_t>;

/// Step out: just after the promise that waits and was raised last is fulfilled. Nothing when none waits or it never
/// is.
[[nodiscard]] Destination finishPromise(const trace::Run& run, const trace::RunState& state, std::uint64_t position);
/// Its mirror: from just after a promise was fulfilled back to just after it was raised; from elsewhere back to where
/// the innermost waiting promise was raised.
[[nodiscard]] Destination openingOfPromise(const trace::Run& run, const trace::RunState& state, std::uint64_t position);

/// Next (previous) time that something happens to what is selected: a visit of the node, or the raising and the
/// fulfilment of a promise. `node` is the node that the selection is about.
[[nodiscard]] Destination nextOfSelection(const trace::Run& run, const views::SelectedThing& selected,
                                          base::NodeId node, std::uint64_t position, bool isForward);

} // namespace retro::app
