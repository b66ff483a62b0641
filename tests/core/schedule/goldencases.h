// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/joint.h"
#include "tests/core/analysis/opgraphs.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace retro::planningtest
{

/// What a case expects and does not get, one line each.
class Findings
{
public:
    template <class A, class B>
    void equal(const std::string& what, const A& actual, const B& expected)
    {
        if (!(nlohmann::json(actual) == nlohmann::json(expected))) {
            m_lines.push_back(what + ": is " + nlohmann::json(actual).dump() + ", expected " +
                              nlohmann::json(expected).dump());
        }
    }
    void require(bool holds, const std::string& what)
    {
        if (!holds) {
            m_lines.push_back(what);
        }
    }
    [[nodiscard]] const std::vector<std::string>& lines() const { return m_lines; }

private:
    std::vector<std::string> m_lines;
};

/// Graph of a case, ids in the order of the names.
[[nodiscard]] analysis::OpGraph graphOfCase(const nlohmann::json& graph);
/// Joint graph of a list of operators as the cases write it; names in `pinned` are given.
[[nodiscard]] analysis::OpGraph jointOfCase(const nlohmann::json& joint);
[[nodiscard]] std::vector<std::string> namesOf(const analysis::OpGraph& graph,
                                               const std::vector<analysis::OpId>& sequence);

void checkForward(const nlohmann::json& item, Findings& findings);
void checkPlan(const nlohmann::json& item, Findings& findings);
void checkNegative(const nlohmann::json& item, Findings& findings);
void checkMinCut(const nlohmann::json& item, Findings& findings);
void checkInterval(const nlohmann::json& item, Findings& findings);
void checkTable(const nlohmann::json& item, Findings& findings);

} // namespace retro::planningtest
