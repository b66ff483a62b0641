// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <functional>
#include <string>
#include <vector>

namespace retro::app
{

/// A benchmark: its body says whether it worked.
struct NamedBody
{
    std::string name;
    std::function<bool()> body;
};

/// How many times faster a compiled program shall be than the first pass.
inline constexpr double kProgramGain = 1.5;

/// The compiled program against the first pass on a transformer (samples/planted-word beside the sample given):
/// program/relevance_… is the relevance alone (graph, roles, traversal or program; ledger included), program/explain_…
/// the whole explanation of the next input. Errors (Input): the sample is not there.
[[nodiscard]] base::Result<std::vector<NamedBody>> programBenchmarks(const std::string& sampleFolder);

} // namespace retro::app
