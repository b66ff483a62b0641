// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "tests/core/lrp/specgraph.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace retro::lrptest
{

/// One case of a golden traversal file.
struct GoldenCase
{
    std::string name;
    std::vector<SpecNode> nodes;
    nlohmann::json seed; ///< null = ones
    nlohmann::json topo;
    std::vector<std::string> trace;
    std::optional<std::vector<std::string>> events;          ///< in the words of textOf()
    std::vector<std::vector<nlohmann::json>> completionRins; ///< per "complete" event, per branch
    nlohmann::json relevance;
    nlohmann::json oracle;
    bool byDocument = false;                               ///< events are in the words of documentTextOf()
    std::vector<std::vector<nlohmann::json>> beginnings{}; ///< per "new" event with "rout", per output
    nlohmann::json final{};                                ///< names whose relevance must be that of the oracle
};

/// Folder of the golden files of a family: $RETROGRADE_GOLDEN/<family>, else the copies beside the tests.
[[nodiscard]] std::string goldenFolder(const std::string& family);

/// Every case of every *.json file of a folder, files in name order. Errors name the file.
[[nodiscard]] base::Result<std::vector<GoldenCase>> readGoldenCases(const std::string& folder);

/// Runs every case of a family and prints its faults, empty texts being none; 0, or 1 where there is one.
[[nodiscard]] int runGoldenCases(const std::string& family,
                                 const std::function<base::Result<std::string>(const GoldenCase&)>& faultOf);

} // namespace retro::lrptest
