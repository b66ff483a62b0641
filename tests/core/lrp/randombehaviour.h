// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/lrp/specgraph.h"

#include <cstdint>

namespace retro::lrptest
{

/// Any behaviour that a node could have under some saving policy and some rule: roles and strictness are drawn, within
/// what the contract of Arithmetic allows.
[[nodiscard]] std::vector<lrp::NodeBehaviour> randomBehaviour(const SpecGraph& spec, std::uint64_t seed);

/// What is wrong with the traversal of a graph over formulas, with the behaviour under both saving policies and a
/// random one; empty when all is well.
[[nodiscard]] std::string faultOnFormulas(const SpecGraph& spec, std::uint64_t seed);

} // namespace retro::lrptest
