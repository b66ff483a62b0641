// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/ledgerrows.h"

#include "views/common/numbertext.h"
#include "views/common/viewcontext.h"
#include "views/ledger/ledgertranslation.h"

#include <QHash>

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::views
{

namespace
{

QString text(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

bool isIn(const VisitRange& range, std::uint32_t visit) { return visit >= range.first && visit <= range.last; }

/// First ledger row and first rule of every node, in some visits.
struct Firsts
{
    Firsts(const trace::Run& run, const VisitRange& range)
        : row(run.graph->runNodeCount(), std::numeric_limits<std::uint64_t>::max()), position(run.graph->runNodeCount())
    {
        for (std::size_t i = run.ledger.size(); i-- > 0;) {
            if (run.ledger[i].node < row.size() && isIn(range, run.ledger[i].visit)) {
                row[run.ledger[i].node] = i;
            }
        }
        for (std::size_t step = run.events.size(); step-- > 0;) {
            const trace::Event& e = run.events[step];
            if (e.kind == event::EventKind::Rule && e.node < position.size() && isIn(range, e.visit)) {
                position[e.node] = step + 1;
            }
        }
    }
    std::vector<std::uint64_t> row;
    std::vector<std::optional<std::uint64_t>> position;
};

LedgerRow rowOf(const trace::Run& run, const trace::NodeBalance& balance, const Firsts& firsts)
{
    LedgerRow row;
    row.node = balance.node;
    row.name = RunModel::placeLabel(*run.graph, balance.node);
    row.detail = text(run.graph->opOf(balance.node));
    row.arrived = balance.arrived;
    row.handedOn = balance.handedOn;
    row.turnover = balance.turnover();
    row.unexplained = balance.unexplained;
    row.causes = balance.causes;
    row.firstRow = firsts.row[balance.node.index()];
    row.position = firsts.position[balance.node.index()];
    return row;
}

QString groupOf(const trace::Run& run, const LedgerRow& row, LedgerGrouping grouping)
{
    if (grouping == LedgerGrouping::Operator) {
        return row.detail;
    }
    const bool isKnown = row.node.index() < run.rules.size() && !run.rules[row.node.index()].rule.empty();
    return isKnown ? QString::fromStdString(run.rules[row.node.index()].rule) : ledgerText("no rule");
}

void addTo(LedgerRow& group, const LedgerRow& row)
{
    group.arrived += row.arrived;
    group.handedOn += row.handedOn;
    group.turnover += row.turnover;
    group.unexplained += row.unexplained;
    for (std::size_t i = 0; i < row.causes.size(); ++i) {
        group.causes[i] += row.causes[i];
    }
    group.firstRow = std::min(group.firstRow, row.firstRow);
    if (row.position && (!group.position || *row.position < *group.position)) {
        group.position = row.position;
    }
    ++group.nodes;
}

std::vector<LedgerRow> grouped(const trace::Run& run, const std::vector<LedgerRow>& rows, LedgerGrouping grouping)
{
    std::vector<LedgerRow> groups;
    QHash<QString, std::size_t> at;
    for (const LedgerRow& row : rows) {
        const QString name = groupOf(run, row, grouping);
        const auto found = at.constFind(name);
        if (found != at.constEnd()) {
            addTo(groups[*found], row);
            continue;
        }
        at.insert(name, groups.size());
        groups.push_back(row);
        groups.back().name = name;
        groups.back().node = base::NodeId();
    }
    for (LedgerRow& group : groups) {
        group.detail = group.nodes == 1 ? ledgerText("1 node")
                                        : ledgerText("%1 nodes").arg(countText(static_cast<std::int64_t>(group.nodes)));
    }
    return groups;
}

} // namespace

std::optional<event::Cause> LedgerRow::largestCause() const
{
    const auto largest =
        std::max_element(causes.begin(), causes.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (*largest == 0) {
        return std::nullopt;
    }
    return static_cast<event::Cause>(largest - causes.begin());
}

std::vector<LedgerRow> ledgerRows(const trace::Run& run, LedgerGrouping grouping,
                                  const std::optional<VisitRange>& range)
{
    const VisitRange visits = range.value_or(VisitRange{0, std::numeric_limits<std::uint32_t>::max()});
    const Firsts firsts(run, visits);
    std::vector<LedgerRow> rows;
    for (const trace::NodeBalance& balance : trace::balancesOf(run, visits.first, visits.last)) {
        rows.push_back(rowOf(run, balance, firsts));
    }
    if (grouping != LedgerGrouping::Node) {
        rows = grouped(run, rows, grouping);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const LedgerRow& a, const LedgerRow& b) {
        const bool isOdd = !std::isfinite(a.turnover);
        return isOdd != !std::isfinite(b.turnover) ? isOdd : a.turnover > b.turnover;
    });
    return rows;
}

} // namespace retro::views
