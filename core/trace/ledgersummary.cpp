// SPDX-License-Identifier: Apache-2.0
#include "core/trace/ledgersummary.h"

#include "core/base/record.h"
#include "core/trace/gradientrun.h"
#include "core/trace/meantrelevance.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace retro::trace
{

using event::Cause;
using event::EventKind;
using event::LedgerEntry;
using nlohmann::ordered_json;

namespace
{

double sumOf(const CauseAmounts& amounts) { return std::accumulate(amounts.begin(), amounts.end(), 0.0); }

void add(NodeBalance& balance, const LedgerEntry& entry)
{
    ++balance.rows;
    balance.arrived += entry.arrived;
    balance.handedOn += entry.handedOn;
    balance.magnitude += entry.magnitude;
    balance.magnitudeHandedOn += entry.magnitudeHandedOn;
    for (std::size_t i = 0; i < entry.causes.size(); ++i) {
        balance.causes[i] += entry.causes[i];
    }
    balance.unexplained += entry.unexplained();
}

/// Not finite comes before everything.
double rank(const NodeBalance& balance)
{
    const double turnover = balance.turnover();
    return std::isfinite(turnover) ? turnover : HUGE_VAL;
}

/// What landed from outside is the start; what inputs know in full are the leaves. Gives what the run holds at the
/// inputs, which may be a gradient.
double addEnds(const Run& run, LedgerSummary& summary)
{
    double held = 0;
    for (const Event& event : run.events) {
        if (event.kind == EventKind::Land && event.other == NodeId::kInvalid && event.promise == PromiseId::kInvalid) {
            summary.start += meantSum(run, ValueId(), HandleId(event.handle));
        } else if (event.kind == EventKind::Relevance && run.graph->isInput(NodeId(event.node))) {
            const auto outputs = run.graph->outputsOf(NodeId(event.node));
            summary.leaves += meantSum(run, outputs.front(), HandleId(event.handle));
            held += meantSum(run, ValueId(), HandleId(event.handle));
        }
    }
    return held;
}

void addRow(LedgerSummary& summary, const LedgerEntry& entry)
{
    RunningBalance running = summary.running.empty() ? RunningBalance() : summary.running.back();
    running.visit = entry.visit;
    running.node = NodeId(entry.node);
    running.unexplained += entry.unexplained();
    running.lost += sumOf(entry.causes) + entry.unexplained();
    summary.running.push_back(running);
    for (std::size_t i = 0; i < entry.causes.size(); ++i) {
        summary.causes[i] += entry.causes[i];
    }
    summary.unexplained += entry.unexplained();
}

ordered_json causesJson(const CauseAmounts& causes)
{
    ordered_json json = ordered_json::object();
    for (std::size_t i = 0; i < causes.size(); ++i) {
        if (causes[i] != 0) {
            json[std::string(nameOf(static_cast<Cause>(i)))] = causes[i];
        }
    }
    return json;
}

} // namespace

double NodeBalance::turnover() const
{
    double sum = std::abs(unexplained);
    for (const double amount : causes) {
        sum += std::abs(amount);
    }
    return sum;
}

std::optional<Cause> NodeBalance::largestCause() const
{
    const auto largest =
        std::max_element(causes.begin(), causes.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    return *largest == 0 ? std::nullopt : std::optional(static_cast<Cause>(largest - causes.begin()));
}

double NodeBalance::growth() const { return magnitude > 0 ? magnitudeHandedOn / magnitude : 0; }

std::vector<NodeBalance> largestGrowth(const std::vector<NodeBalance>& nodes, double least)
{
    std::vector<NodeBalance> grown;
    std::ranges::copy_if(nodes, std::back_inserter(grown),
                         [least](const NodeBalance& balance) { return balance.growth() >= least; });
    std::ranges::stable_sort(grown, std::ranges::greater(), &NodeBalance::growth);
    return grown;
}

void addRows(std::vector<NodeBalance>& balances, std::span<const LedgerEntry> rows)
{
    for (const LedgerEntry& entry : rows) {
        if (entry.node < balances.size()) {
            balances[entry.node].node = NodeId(entry.node);
            add(balances[entry.node], entry);
        }
    }
}

std::vector<NodeBalance> balancesOf(const Run& run, std::uint32_t first, std::uint32_t last)
{
    std::vector<NodeBalance> balances(run.graph->runNodeCount());
    for (const LedgerEntry& entry : run.ledger) {
        if (entry.node < balances.size() && entry.visit >= first && entry.visit <= last) {
            balances[entry.node].node = NodeId(entry.node);
            add(balances[entry.node], entry);
        }
    }
    std::erase_if(balances, [](const NodeBalance& balance) { return balance.rows == 0; });
    std::stable_sort(balances.begin(), balances.end(),
                     [](const NodeBalance& a, const NodeBalance& b) { return rank(a) > rank(b); });
    return balances;
}

LedgerSummary summarise(const Run& run)
{
    LedgerSummary summary;
    summary.nodes = balancesOf(run, 0, std::numeric_limits<std::uint32_t>::max());
    for (const LedgerEntry& entry : run.ledger) {
        if (entry.node < run.graph->runNodeCount()) {
            addRow(summary, entry);
        }
    }
    const double held = addEnds(run, summary);
    summary.rest = summary.start - held - sumOf(summary.causes) - summary.unexplained;
    return summary;
}

base::Fields<NodeBalance> balanceFields(const Run& run)
{
    return {{"node", [&run](const NodeBalance& one) { return run.graph->labelOf(one.node); }, "{:<36}",
             "node, worst first"},
            {"operator", [&run](const NodeBalance& one) { return run.graph->opOf(one.node); }, "{:<20}", "operator"},
            {"arrived", &NodeBalance::arrived, "{:>13.6g}", "arrived"},
            {"handed_on", &NodeBalance::handedOn, "{:>13.6g}", "handed on"},
            {"magnitude", &NodeBalance::magnitude, "{:>13.6g}", "Σ|R| arrived"},
            {"causes", [](const NodeBalance& one) { return causesJson(one.causes); }},
            {"unexplained", &NodeBalance::unexplained, "{:>13.3g}", "unexplained"}};
}

ordered_json ledgerJson(const Run& run, const LedgerSummary& summary)
{
    return {{"conserved", !carriesGradient(run)},
            {"start", summary.start},
            {"leaves", summary.leaves},
            {"causes", causesJson(summary.causes)},
            {"unexplained", summary.unexplained},
            {"rest", summary.rest},
            {"nodes", balanceFields(run).list(summary.nodes)}};
}

} // namespace retro::trace
