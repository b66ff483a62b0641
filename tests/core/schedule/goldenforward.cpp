// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/bounds.h"
#include "core/analysis/compressibility.h"
#include "core/analysis/frontier.h"
#include "core/analysis/orders.h"
#include "tests/core/schedule/goldencases.h"

#include <algorithm>
#include <cmath>

namespace retro::planningtest
{

using analysis::FrontierProfile;
using analysis::OpGraph;
using analysis::OpId;
using nlohmann::json;

namespace
{

bool isNear(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

void checkProfile(const OpGraph& graph, const FrontierProfile& profile, const json& expected, Findings& findings)
{
    const auto goes = analysis::leaving(profile);
    const auto summary = analysis::summarise(profile);
    findings.equal("order", namesOf(graph, profile.order), expected.at("order"));
    for (std::size_t step = 0; step < expected.at("frontier").size(); ++step) {
        const json& row = expected.at("frontier")[step];
        const std::string at = "step " + std::to_string(step) + " ";
        findings.equal(at + "alloc", profile.transient[step], row.at("alloc"));
        findings.equal(at + "live", profile.live[step], row.at("live"));
        std::vector<std::string> leaving;
        for (const analysis::OpValueId id : goes[step]) {
            leaving.push_back(graph.value(id).name);
        }
        auto exits = row.at("exit").get<std::vector<std::string>>();
        std::sort(leaving.begin(), leaving.end());
        std::sort(exits.begin(), exits.end());
        findings.equal(at + "exit", leaving, exits);
    }
    findings.equal("ref_live", profile.legacy, expected.at("ref_live"));
    findings.equal("peak_alloc", summary.peak, expected.at("peak_alloc"));
    findings.equal("peak_live", summary.peakLive, expected.at("peak_live"));
    findings.equal("argmax_live", summary.peakLiveAt, expected.at("argmax_live"));
    findings.equal("tail", summary.tail, expected.at("tail"));
    findings.require(isNear(summary.averageLive, expected.at("average_live").get<double>()), "average_live");
}

} // namespace

void checkForward(const json& item, Findings& findings)
{
    const OpGraph graph = graphOfCase(item.at("graph"));
    const json& expect = item.at("expect");
    const FrontierProfile profile = analysis::frontierProfile(graph, graph.order());
    checkProfile(graph, profile, expect.at("kahn"), findings);
    const auto exact = analysis::exactOrders(graph);
    findings.require(exact.has_value(), "no exact order");
    if (exact) {
        findings.equal("exact_min_peak_alloc", exact->transient, expect.at("exact_min_peak_alloc"));
        findings.equal("exact_min_peak_live", exact->live, expect.at("exact_min_peak_live"));
    }
    findings.equal("sound_lower_bound_alloc", analysis::largestOperator(graph, true).bytes,
                   expect.at("sound_lower_bound_alloc"));
    const json& hcp = expect.at("hcp_on_kahn");
    const auto facts = analysis::legacyCompressibility(graph, profile);
    findings.equal("hcp", facts.isCompressible, hcp.at("hcp"));
    findings.equal("width", facts.width, hcp.at("width"));
    findings.equal("depth", facts.depth, hcp.at("depth"));
    findings.equal("max_fanout", facts.mostReaders, hcp.at("max_fanout"));
    findings.require(isNear(facts.ratio, hcp.at("ratio").get<double>()), "ratio");
    findings.require(isNear(facts.percentile95, hcp.at("p95").get<double>()), "p95");
    findings.require(isNear(facts.average, hcp.at("average").get<double>()), "average");
    // Ours is no worse than the greedy order of the reference.
    const auto orders = analysis::allOrders(graph);
    findings.require(orders.front().peak <= expect.at("greedy").at("peak_alloc").get<std::uint64_t>(),
                     "no order as good as the reference's greedy");
}

} // namespace retro::planningtest
