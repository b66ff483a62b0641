// SPDX-License-Identifier: Apache-2.0
#include "views/plan/pinsview.h"

#include "core/base/file.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/listtable.h"
#include "views/plan/pintablemodel.h"
#include "views/plan/rowlink.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

namespace retro::views
{

using fonts::px;

PinsView::PinsView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent)
    : View(model, cursor, selection, parent), m_plan(plan), m_items(new PinTableModel(plan, this))
{
    setAccessibleName(tr("Tensors that were chosen by hand"));
    setEmptyText(tr("Tensors that you keep or recompute appear here, once a model is open."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    makeTable();
    column->addWidget(m_table, 1);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(px(10), px(2), px(10), px(4));
    row->addStretch(1);
    m_clear = new QPushButton(tr("Take all back"), body);
    m_clear->setToolTip(tr("Let a planner choose again what is kept"));
    row->addWidget(m_clear);
    column->addLayout(row);
    setBody(body);
    connect(m_clear, &QPushButton::clicked, &plan, &PlanModel::clearChoices);
    for (const auto change : {&PlanModel::stateChanged, &PlanModel::planChanged, &PlanModel::questionChanged,
                              &PlanModel::pinEffectsChanged}) {
        connect(&plan, change, this, [this] { schedule(Change::State); });
    }
    connect(&plan, &PlanModel::stateChanged, this, &PinsView::forget);
}

void PinsView::makeTable()
{
    m_table = newList(this, tr("Choices made by hand"), *m_items, px(22));
    m_table->horizontalHeader()->setMinimumSectionSize(px(24));
    setColumnWidths(*m_table, {0, 84, 72, 64, 28});
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& index) { selectRow(index.row()); });
    connect(m_table, &QTableView::clicked, this, [this](const QModelIndex& index) {
        if (index.column() == PinTableModel::UndoColumn) {
            m_plan.unpin(m_items->valueAt(index.row()));
        }
    });
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
    addItemAction(*m_table, tr("Take this choice back"), QKeySequence(Qt::Key_Delete), [this] {
        if (m_table->currentIndex().isValid()) {
            m_plan.unpin(m_items->valueAt(m_table->currentIndex().row()));
        }
    });
}

QString PinsView::subject() const
{
    const std::size_t count = m_plan.pins().size();
    return count == 0   ? QString()
           : count == 1 ? tr("1 what-if")
                        : tr("%1 what-ifs").arg(countText(static_cast<std::int64_t>(count)));
}

bool PinsView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

base::Result<void> PinsView::exportTo(const std::filesystem::path& path)
{
    takePins(); // the pane may be hidden
    if (m_items->rowCount() == 0) {
        return base::usageError("no tensor was chosen by hand; keep or recompute one first", path.string());
    }
    return base::writeFile(path, m_items->csv());
}

QString PinsView::emptyReason() const
{
    if (m_plan.state() == PlanState::Absent) {
        return m_plan.whyNoSubject({});
    }
    return m_plan.hasChoices() ? QString()
                               : tr("Nothing is chosen by hand. Press K or R at a tensor of the schedule, or click its "
                                    "decision in Tensors: what that does to peak and work appears here.");
}

void PinsView::refresh(Changes changes)
{
    if (m_plan.state() == PlanState::Absent) {
        m_plan.want();
    }
    if (m_plan.hasChoices() && m_shown != m_plan.planOfSteps() && !m_plan.isPlanning()) {
        m_shown = m_plan.planOfSteps();
        m_plan.wantPinEffects();
    }
    if (changes.testFlag(Change::State)) {
        takePins();
    }
    followSelection();
}

/// A model that was closed is let go at once, also while the pane is hidden.
void PinsView::forget()
{
    if (!m_plan.plan()) {
        m_shown.reset();
        takePins();
    }
}

void PinsView::takePins()
{
    m_isFollowing = true;
    m_items->take();
    m_isFollowing = false;
}

void PinsView::followSelection()
{
    const ShownPlanPointer& plan = m_plan.planOfSteps();
    const auto row = plan ? rowOfThing(model(), selection().thing(), *plan) : std::nullopt;
    const int at = row && *row < plan->matrix.rows().size() ? m_items->rowOf(plan->matrix.rows()[*row].value) : -1;
    m_isFollowing = true;
    if (at < 0) {
        m_table->clearSelection();
    } else {
        m_table->setCurrentIndex(m_items->index(at, PinTableModel::NameColumn));
    }
    m_isFollowing = false;
}

void PinsView::selectRow(int row)
{
    const ShownPlanPointer& plan = m_plan.planOfSteps();
    if (row < 0 || m_isFollowing || !plan) {
        return;
    }
    const std::uint32_t of = plan->matrix.rowOf(m_items->valueAt(row));
    if (of != analysis::kNone) {
        selectRowOf(model(), selection(), *plan, of);
    }
}

} // namespace retro::views

#include "moc_pinsview.cpp"
