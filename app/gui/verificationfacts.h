// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/verify.h"
#include "views/common/verification.h"

namespace retro::app
{

/// What the window shows of a verification, with names turned into the nodes (and inputs) of `graph`; what `graph` does
/// not have stays without a node.
[[nodiscard]] views::Verification verificationFacts(const engine::VerifyResult& result, const graph::Graph& graph);

} // namespace retro::app
