// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/lrp/goldencase.h"
#include "tests/core/lrp/tensorrun.h"

#include <string>
#include <vector>

namespace retro::lrptest
{

/// The numbers of nested lists, in order.
[[nodiscard]] std::vector<double> flat(const nlohmann::json& values);

/// What is wrong with the post-order indices; empty when nothing is.
[[nodiscard]] std::string checkTopo(const GoldenCase& golden, const TensorCase& made);
/// What is wrong with visits, events and the relevance of promises.
[[nodiscard]] std::string checkControlFlow(const GoldenCase& golden, const TensorCase& made, const TensorRun& run);
/// What is wrong with the relevance of nodes by name; `scale` says by node how large it is.
[[nodiscard]] std::string checkRelevance(const char* what, const nlohmann::json& expected, const nlohmann::json& scale,
                                         const TensorCase& made, const lrp::RelevanceTable& table);

} // namespace retro::lrptest
