// SPDX-License-Identifier: Apache-2.0
#include "views/profile/profilemodel.h"

#include "views/common/numbertext.h"
#include "views/common/viewcontext.h"

namespace retro::views
{

using trace::NodeTotal;

namespace
{

QString milliseconds(double seconds) { return fixedText(seconds * 1e3, 3); }

QString againText(const NodeTotal& total)
{
    return total.rebuilds == 0 ? QStringLiteral("–") : milliseconds(total.rebuildSeconds);
}

} // namespace

ProfileTableModel::ProfileTableModel(QObject* parent)
    : RecordTable(
          {{tr("Node"), [this](const NodeTotal& n) { return RunModel::placeLabel(*m_run->graph, n.node); },
            Cells::Words, nullptr,
            [this](const NodeTotal& n) { return QString::fromStdString(m_run->graph->labelOf(n.node)); }},
           {tr("Operator"),
            [this](const NodeTotal& n) { return QString::fromStdString(std::string(m_run->graph->opOf(n.node))); }},
           {tr("Forward, ms"), [](const NodeTotal& n) { return milliseconds(n.forwardSeconds); }, Cells::Figures,
            &NodeTotal::forwardSeconds},
           {tr("Reverse, ms"), [](const NodeTotal& n) { return milliseconds(n.reverseSeconds); }, Cells::Figures,
            &NodeTotal::reverseSeconds},
           {tr("Again, ms"), againText, Cells::Figures, &NodeTotal::rebuildSeconds,
            [](const NodeTotal& n) {
                return n.rebuilds > 0
                           ? tr("computed again %1 times").arg(countText(static_cast<std::int64_t>(n.rebuilds)))
                           : QString();
            }},
           {tr("Share"),
            [this](const NodeTotal& n) { return percentText(m_seconds > 0 ? n.seconds() / m_seconds : 0); },
            Cells::Figures, &NodeTotal::seconds},
           {tr("MFLOP"), [](const NodeTotal& n) { return valueText(n.allFlops() / 1e6, 4); }, Cells::Figures,
            &NodeTotal::allFlops},
           {tr("Results"), [](const NodeTotal& n) { return bytesText(n.bytes); }, Cells::Figures,
            [](const NodeTotal& n) { return static_cast<double>(n.bytes); }}},
          parent)
{}

void ProfileTableModel::setRun(std::shared_ptr<const trace::Run> run)
{
    beginResetModel();
    m_run = std::move(run);
    m_seconds = 0;
    std::vector<NodeTotal> totals;
    if (m_run && m_run->profile) {
        for (const NodeTotal& total : trace::nodeTotals(*m_run->profile, m_run->graph->nodeCount())) {
            if (total.seconds() > 0 || total.allFlops() > 0 || total.bytes > 0) {
                totals.push_back(total);
                m_seconds += total.seconds();
            }
        }
    }
    takeRecords(trace::byTime(std::move(totals)));
    endResetModel();
}

} // namespace retro::views

#include "moc_profilemodel.cpp"
