// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "tests/core/lrp/specgraph.h"

#include <memory>
#include <string>

namespace retro::lrptest
{

/// The run of a case on tensors, with what each gradient reads saved; null when it could not be run.
[[nodiscard]] std::shared_ptr<const trace::Run> recordedRun(const SpecGraph& spec);

/// Runs a case and compares, after every visit, what the traversal holds with the state that its events give: the three
/// collections, every promise with its arguments, relevance, parents and children, chains, and what every node misses
/// and waits for. Says where they part first; empty when they never do.
[[nodiscard]] std::string differenceFromEvents(const SpecGraph& spec);

} // namespace retro::lrptest
