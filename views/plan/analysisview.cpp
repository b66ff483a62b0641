// SPDX-License-Identifier: Apache-2.0
#include "views/plan/analysisview.h"

#include "core/schedule/peaktensors.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/plan/bytescale.h"

#include <QHeaderView>
#include <QSignalBlocker>
#include <QTreeWidget>

#include <algorithm>

namespace retro::views
{

namespace
{

enum Column { NameColumn, FigureColumn, NoteColumn, ColumnCount };
constexpr int kOrderRole = Qt::UserRole; ///< name of the order that a row is
constexpr std::size_t kMostRows = 12;
constexpr double kMostName = 0.44; ///< of the width: figures stay in sight beside long names

QTreeWidgetItem& addRow(QTreeWidgetItem& part, const QString& name, const QString& figure, const QString& note)
{
    auto* row = new QTreeWidgetItem(&part, {name, figure, note});
    row->setFont(FigureColumn, fonts::smallNumbers());
    row->setTextAlignment(FigureColumn, Qt::AlignRight | Qt::AlignVCenter);
    row->setToolTip(NameColumn, name);
    row->setToolTip(NoteColumn, note);
    return *row;
}

} // namespace

AnalysisView::AnalysisView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent)
    : View(model, cursor, selection, parent), m_plan(plan)
{
    setAccessibleName(tr("Analysis of the planned graph"));
    setEmptyText(tr("Orders, bounds and what fills the peak appear here, once a model is open."));
    m_table = new QTreeWidget(this);
    m_table->setAccessibleName(tr("What is true of the graph"));
    m_table->setColumnCount(ColumnCount);
    m_table->setHeaderLabels({tr("What"), tr("Figure"), tr("How")});
    m_table->header()->setMinimumSectionSize(fonts::px(40));
    m_table->setTextElideMode(Qt::ElideMiddle); // names of tensors differ at both ends
    m_table->header()->setSectionResizeMode(FigureColumn, QHeaderView::ResizeToContents);
    m_table->header()->setStretchLastSection(true);
    m_table->setFrameShape(QFrame::NoFrame);
    m_table->setUniformRowHeights(true);
    m_table->setIndentation(fonts::px(12));
    setBody(m_table);
    connect(m_table, &QTreeWidget::itemClicked, this, [this](const QTreeWidgetItem* item) { use(*item); });
    connect(m_table, &QTreeWidget::itemActivated, this, [this](const QTreeWidgetItem* item) { use(*item); });
    for (const auto change : {&PlanModel::stateChanged, &PlanModel::planChanged, &PlanModel::questionChanged,
                              &PlanModel::analysisChanged}) {
        connect(&plan, change, this, [this] { schedule(Change::State); });
    }
}

QString AnalysisView::subject() const
{
    return m_plan.subject()
               ? tr("%1 operators").arg(countText(static_cast<std::int64_t>(m_plan.subject()->graph().size())))
               : QString();
}

bool AnalysisView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

void AnalysisView::refresh(Changes /*changes*/)
{
    if (m_plan.state() == PlanState::Absent) {
        m_plan.want();
    }
    const QSignalBlocker quiet(m_table);
    m_table->clear();
    if (m_plan.analysis()) {
        const PlanAnalysis& analysis = *m_plan.analysis();
        addOrders(analysis);
        addVerdict(analysis);
        addLimits(analysis);
    }
    if (m_plan.plan()) {
        addPeak(*m_plan.plan());
    }
    if (m_plan.analysis()) {
        addCuts(*m_plan.analysis());
    }
    fitNames();
}

void AnalysisView::resizeEvent(QResizeEvent* event)
{
    View::resizeEvent(event);
    fitNames();
}

void AnalysisView::fitNames()
{
    const QAbstractItemView& table = *m_table; // the tree hides its own
    const int wanted = table.sizeHintForColumn(NameColumn);
    const int most = static_cast<int>(kMostName * m_table->viewport()->width());
    m_table->header()->resizeSection(NameColumn, std::min(wanted, most));
}

QTreeWidgetItem& AnalysisView::addPart(const QString& title, const QString& figure, const QString& note)
{
    auto* part = new QTreeWidgetItem(m_table, {title, figure, note});
    part->setFont(NameColumn, fonts::label(QFont::DemiBold));
    part->setFont(FigureColumn, fonts::smallNumbers());
    part->setTextAlignment(FigureColumn, Qt::AlignRight | Qt::AlignVCenter);
    part->setExpanded(true);
    return *part;
}

void AnalysisView::addOrders(const PlanAnalysis& analysis)
{
    QTreeWidgetItem& part = addPart(tr("Forward order"), tr("peak"), tr("store-all; click to plan in it"));
    const std::string& chosen = m_plan.question().order;
    const auto add = [&](const std::string& name, const QString& figure, const QString& note) {
        QTreeWidgetItem& row = addRow(part, QString::fromStdString(name), figure, note);
        row.setData(NameColumn, kOrderRole, QString::fromStdString(name));
        if (name == chosen) {
            for (int column = 0; column < ColumnCount; ++column) {
                row.setBackground(column, theme(this)[Role::Sel]);
            }
        }
    };
    add("auto", {}, tr("the best orders share the time"));
    for (const PlanAnalysis::Order& order : analysis.orders) {
        const QString stored =
            order.storeAllPeak == 0 ? QString() : tr("store-all %1; ").arg(bytesWords(order.storeAllPeak));
        add(order.name, bytesWords(order.peak),
            stored + tr("live %1; %2").arg(bytesWords(order.peakLive), QString::fromStdString(order.how)));
    }
    part.setExpanded(true);
}

void AnalysisView::addVerdict(const PlanAnalysis& analysis)
{
    const analysis::Compressibility& verdict = analysis.verdict;
    const QString word = verdict.isTooSmall ? tr("too small") : verdict.isCompressible ? tr("yes") : tr("no");
    QTreeWidgetItem& part = addPart(
        tr("Height-compressible"), word,
        tr("depth %1, widest %2").arg(countText(static_cast<std::int64_t>(verdict.depth)), bytesWords(verdict.width)));
    for (const analysis::Criterion& one : verdict.criteria) {
        addRow(part, (one.holds ? tr("✓ %1") : tr("✕ %1")).arg(QString::fromStdString(one.name)),
               fixedText(one.measured, 3),
               (one.isLeast ? tr("at least %1") : tr("at most %1")).arg(fixedText(one.limit, 2)));
    }
    part.setExpanded(true);
}

void AnalysisView::addLimits(const PlanAnalysis& analysis)
{
    QTreeWidgetItem& part = addPart(tr("Bounds"), {}, tr("nothing goes below"));
    for (const PlanAnalysis::Limit& limit : analysis.limits) {
        addRow(part, QString::fromStdString(limit.what), bytesWords(limit.bytes),
               limit.at.empty() ? QString() : tr("at %1").arg(QString::fromStdString(limit.at)));
    }
    part.setExpanded(true);
}

void AnalysisView::addPeak(const ShownPlan& plan)
{
    const std::vector<schedule::PeakTensor> tensors = schedule::peakTensors(plan.graph(), plan.plan(), plan.run);
    QTreeWidgetItem& part = addPart(tr("Peak of the plan"), bytesWords(plan.run.peak),
                                    tr("%1 tensors").arg(countText(static_cast<std::int64_t>(tensors.size()))));
    std::uint64_t rest = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (i < kMostRows) {
            addRow(part, QString::fromStdString(tensors[i].name), bytesWords(tensors[i].bytes),
                   QString::fromStdString(tensors[i].why));
        } else {
            rest += tensors[i].bytes;
        }
    }
    if (tensors.size() > kMostRows) {
        addRow(part, tr("%1 more").arg(countText(static_cast<std::int64_t>(tensors.size() - kMostRows))),
               bytesWords(rest), {});
    }
    part.setExpanded(true);
}

void AnalysisView::addCuts(const PlanAnalysis& analysis)
{
    QTreeWidgetItem& part = addPart(
        tr("Narrowest cuts"), {},
        analysis.longestSkip.empty() ? QString()
                                     : tr("longest skip: %1, %2 positions")
                                           .arg(QString::fromStdString(analysis.longestSkip),
                                                countText(static_cast<std::int64_t>(analysis.longestSkipPositions))));
    for (std::size_t i = 0; i < std::min(kMostRows, analysis.cuts.size()); ++i) {
        const PlanAnalysis::Cut& cut = analysis.cuts[i];
        addRow(part, tr("behind %1").arg(QString::fromStdString(cut.behind)), bytesWords(cut.bytes),
               tr("%1 values").arg(countText(static_cast<std::int64_t>(cut.values))));
    }
    part.setExpanded(true);
}

void AnalysisView::use(const QTreeWidgetItem& item)
{
    const QString order = item.data(NameColumn, kOrderRole).toString();
    if (!order.isEmpty()) {
        m_plan.setOrder(order.toStdString());
    }
}

} // namespace retro::views

#include "moc_analysisview.cpp"
