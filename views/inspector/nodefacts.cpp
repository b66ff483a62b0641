// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/nodefacts.h"

#include "core/trace/nodesteps.h"
#include "views/common/causewords.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

QString translated(const char* text) { return QCoreApplication::translate("retro::views::InspectorView", text); }

bool isReached(const RunModel& model, base::NodeId node) { return model.derived<trace::NodeSteps>()->isReached(node); }

QString visitText(const RunModel& model, base::NodeId node)
{
    const trace::RunState& state = model.state();
    const std::uint32_t visits = state.nodes[node.index()].visits;
    if (visits == 0) {
        return isReached(model, node) ? translated("not visited yet") : translated("never visited in this run");
    }
    if (state.current == node) {
        return translated("visited now");
    }
    return visits == 1 ? translated("visited") : translated("visited %1 times").arg(visits);
}

QString ruleText(const RunModel& model, base::NodeId node)
{
    QStringList parts{model.op(node)};
    if (node.index() < model.run().rules.size()) {
        const trace::NodeRule& rule = model.run().rules[node.index()];
        if (!rule.rule.empty()) {
            parts.append(translated("rule %1").arg(QString::fromStdString(rule.rule)));
        }
        if (!rule.matcher.empty()) {
            parts.append(translated("chosen by %1").arg(QString::fromStdString(rule.matcher)));
        }
    }
    return parts.join(QStringLiteral(" · "));
}

QString notesText(const RunModel& model, base::NodeId node)
{
    QStringList lines;
    if (!model.graph().isInput(node)) {
        for (const auto& [key, note] : model.graph().node(node).metadata) {
            lines.append(QString::fromStdString(key) + QStringLiteral(": ") + QString::fromStdString(note));
        }
    }
    return lines.join(QLatin1Char('\n'));
}

struct Sums
{
    event::LedgerEntry total;
    bool hasRows = false;
};

void addTo(event::LedgerEntry& total, const event::LedgerEntry& row)
{
    total.arrived += row.arrived;
    total.handedOn += row.handedOn;
    total.magnitude += row.magnitude;
    for (std::size_t c = 0; c < total.causes.size(); ++c) {
        total.causes[c] += row.causes[c];
    }
}

Sums sumsOf(const RunModel& model, base::NodeId node)
{
    Sums sums;
    const std::vector<event::LedgerEntry>& ledger = model.run().ledger;
    const std::size_t booked = std::min<std::size_t>(model.state().ledgerRows, ledger.size());
    for (std::size_t row = 0; row < booked; ++row) {
        if (ledger[row].node == node.value) {
            sums.hasRows = true;
            addTo(sums.total, ledger[row]);
        }
    }
    return sums;
}

} // namespace

std::vector<BalanceLine> balanceOf(const RunModel& model, base::NodeId node)
{
    const Sums sums = sumsOf(model, node);
    std::vector<BalanceLine> lines;
    if (!sums.hasRows) {
        return lines;
    }
    const event::LedgerEntry& total = sums.total;
    const auto add = [&](const QString& name, double amount, BalanceLine::Kind kind) {
        lines.push_back({name, amount, total.arrived != 0 ? amount / total.arrived : 0, kind});
    };
    add(translated("Arrived"), total.arrived, BalanceLine::Kind::Arrived);
    add(translated("Handed on"), total.handedOn, BalanceLine::Kind::HandedOn);
    for (std::size_t c = 0; c < total.causes.size(); ++c) {
        if (std::abs(total.causes[c]) > 1e-9 * total.magnitude) {
            add(causeText(static_cast<event::Cause>(c)), total.causes[c], BalanceLine::Kind::Cause);
        }
    }
    const bool isNoise = std::abs(total.unexplained()) < 1e-12 * total.magnitude;
    add(translated("Unexplained"), isNoise ? 0.0 : total.unexplained(), BalanceLine::Kind::Unexplained);
    return lines;
}

NodeFacts nodeFacts(const RunModel& model, const SelectedThing& selected)
{
    NodeFacts facts;
    facts.node = model.nodeOf(selected);
    facts.value = model.valueOf(selected);
    if (!facts.node.isValid() && std::holds_alternative<std::monostate>(selected)) {
        facts.node = model.state().current;
        facts.value = facts.node.isValid() ? model.valueOf(facts.node) : base::ValueId();
    }
    if (!facts.node.isValid()) {
        return facts;
    }
    facts.name = model.label(facts.node);
    facts.mode = model.state().nodes[facts.node.index()].lastMode;
    facts.visit = visitText(model, facts.node);
    facts.rule = ruleText(model, facts.node);
    facts.shape = model.shapeText(facts.value);
    facts.notes = notesText(model, facts.node);
    facts.balance = balanceOf(model, facts.node);
    facts.noBalance = isReached(model, facts.node) ? translated("Its rule has not been applied yet.")
                                                   : translated("Its rule is not applied: no relevance comes here.");
    return facts;
}

} // namespace retro::views
