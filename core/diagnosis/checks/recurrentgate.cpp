// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"
#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/openedforward.h"
#include "core/diagnosis/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

namespace retro::diagnosis
{

namespace
{

/// Section 4.4, recurrent.gate: share of a gate below 0.01, or of forget and update gates above 0.999, over steps and
/// units: > 0.9; bases and e.
constexpr double kMostShut = 0.9;
constexpr double kShutBelow = 0.01; // hardly anything is left after one step
constexpr double kOpenAbove = 0.999;
constexpr double kShutBase = 2.9;
constexpr double kGateEffect = 0.9;

/// One gate of one direction, over all steps.
struct GateCount
{
    double count = 0;
    double shut = 0;
    double open = 0;
    std::vector<double> shutOfSteps; ///< shares, in the order of the steps that are worked out
    std::vector<double> openOfSteps;
    std::string firstShut; ///< name of the first step that is shut in more than kMostShut of its units
};

using GateCounts = std::map<std::string, GateCount>; // "forget gate, forward"

void addGate(const std::string& step, const std::string& gate, const Tensor& value, GateCounts& counts)
{
    const std::string before = step.substr(0, step.rfind('/'));
    GateCount& count = counts[gate + ", " + before.substr(before.rfind('/') + 1)];
    double shut = 0;
    const std::vector<double> numbers = numbersIn(value);
    double open = 0;
    for (const double y : numbers) {
        shut += y < kShutBelow ? 1 : 0;
        open += y > kOpenAbove ? 1 : 0;
    }
    count.open += open;
    count.shutOfSteps.push_back(shut / std::max<double>(1, static_cast<double>(numbers.size())));
    count.openOfSteps.push_back(open / std::max<double>(1, static_cast<double>(numbers.size())));
    count.count += static_cast<double>(numbers.size());
    count.shut += shut;
    if (count.firstShut.empty() && shut > kMostShut * static_cast<double>(numbers.size())) {
        count.firstShut = step;
    }
}

/// Gates of an LSTM or GRU that was taken apart: its steps are named "lstm/forward/3/forget gate".
GateCounts gatesOf(const OpenedForward& opened)
{
    static constexpr std::array<std::string_view, 3> kOfLstm{"input gate", "output gate", "forget gate"};
    GateCounts counts;
    for (const graph::Node& node : opened.graph().nodes()) {
        const std::size_t end = node.name.rfind('/');
        const std::string what = end == std::string::npos ? std::string() : node.name.substr(end + 1);
        const std::string step = node.name.substr(0, end);
        for (const std::string_view name : kOfLstm) {
            if (what == name) {
                addGate(step, what, opened.value(node.outputs.front()), counts);
            }
        }
        if (what == "gate" && node.outputs.size() == 2) { // of a GRU
            addGate(step, "update gate", opened.value(node.outputs[0]), counts);
            addGate(step, "reset gate", opened.value(node.outputs[1]), counts);
        }
    }
    return counts;
}

void reportGate(const Facts& facts, NodeId id, const std::string& gate, const GateCount& count, Probe& probe)
{
    const double shut = count.shut / count.count;
    const double open = count.open / count.count;
    const bool isShut = shut > kMostShut;
    Finding& finding = probe.warning(isShut ? kShutBase : 2, kGateEffect, facts.place(id));
    finding.what =
        fmt::format("its {}, is {} in {} of its steps and units ({}) for this input", gate, isShut ? "shut" : "open",
                    percentText(isShut ? shut : open), isShut ? "below 0.01" : "above 0.999");
    finding.means = isShut ? "What it gates never gets on, so that nothing behind depends on it."
                           : "What was there first stays: later steps hardly count.";
    finding.remedy = fmt::format("Look at the bias of this gate in {}", facts.graph().node(id).name);
    finding.numbers = {{"share_shut", shut}, {"share_open", open}};
    finding.threshold = kMostShut;
    const std::vector<double>& shares = isShut ? count.shutOfSteps : count.openOfSteps;
    std::vector<std::size_t> beyond;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        if (shares[i] > kMostShut) {
            beyond.push_back(i);
        }
    }
    finding.chart =
        barsOf(fmt::format("Share of units that are {}, step by step", isShut ? "shut" : "open"), shares, beyond);
    finding.chart.limits = {kMostShut};
    finding.action = {"go to step", {{"node", finding.place.name}, {"gate", gate}, {"step", count.firstShut}}, {}};
}

void measureGates(const Facts& facts, NodeId id, const GateCounts& gates, Probe& probe)
{
    for (const auto& [gate, count] : gates) {
        const bool keeps = gate.starts_with("forget gate") || gate.starts_with("update gate");
        const double share = std::max(count.shut, keeps ? count.open : 0) / std::max(1.0, count.count);
        probe.measured(facts.graph().node(id).name, share);
        if (share > kMostShut) {
            reportGate(facts, id, gate, count, probe);
        }
    }
}

void findGates(const Facts& facts, Probe& probe)
{
    const graph::Graph& graph = facts.graph();
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const graph::Node& node = graph.node(id);
        if ((node.op != "LSTM" && node.op != "GRU") || !reachesTarget(facts, id)) {
            continue;
        }
        if (const auto opened = openedForward(facts, id)) {
            measureGates(facts, id, gatesOf(*opened), probe);
        }
    }
}

} // namespace

/// Takes the steps apart and runs them once more, which is more than half of the time of a small explanation.
const Check recurrentGate{
    "recurrent.gate", "share of a gate of an LSTM or GRU below 0.01, of forget and update gates also above 0.999",
    kMostShut,        "0",
    Need::Forward,    false,
    findGates};

} // namespace retro::diagnosis
