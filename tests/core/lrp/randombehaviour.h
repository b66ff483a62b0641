// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/lrp/specgraph.h"

#include <cstdint>

namespace retro::lrptest
{

/// Any behaviour that a node could have under some saving policy and some rule: roles and strictness are drawn, within
/// what the contract of Arithmetic allows.
[[nodiscard]] std::vector<lrp::NodeBehaviour> randomBehaviour(const SpecGraph& spec, std::uint64_t seed);

/// Runs the traversal over formulas for `count` random graphs of up to `operations` operations, each with the behaviour
/// under both saving policies and a random one. Returns the smallest failing graph that was found, as text; empty when
/// all is well.
[[nodiscard]] std::string firstFailure(std::uint64_t firstSeed, std::size_t count, std::size_t operations);

} // namespace retro::lrptest
