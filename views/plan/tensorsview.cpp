// SPDX-License-Identifier: Apache-2.0
#include "views/plan/tensorsview.h"

#include "core/base/file.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/listtable.h"
#include "views/plan/rowlink.h"
#include "views/plan/tensortablemodel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

namespace retro::views
{

using fonts::px;

TensorsView::TensorsView(RunModel& model, Cursor& cursor, Selection& selection, PlanModel& plan, QWidget* parent)
    : View(model, cursor, selection, parent), m_plan(plan), m_items(new TensorTableModel(plan, this))
{
    setAccessibleName(tr("Tensors of the plan"));
    setEmptyText(tr("What becomes of every tensor appears here, once a model is open."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    makeTools(*body);
    makeTable();
    column->addWidget(m_table, 1);
    setBody(body);
    for (const auto change : {&PlanModel::stateChanged, &PlanModel::planChanged, &PlanModel::questionChanged}) {
        connect(&plan, change, this, [this] { schedule(Change::State); });
    }
    connect(&plan, &PlanModel::stateChanged, this, [this] {
        if (!m_plan.plan()) {
            takePlan(); // a closed model is let go at once, also while the pane is hidden
        }
    });
}

void TensorsView::makeTools(QWidget& parent)
{
    auto* row = new QHBoxLayout;
    row->setContentsMargins(px(8), px(4), px(8), px(4));
    row->setSpacing(px(6));
    m_filter = new QLineEdit(&parent);
    m_filter->setPlaceholderText(tr("filter"));
    m_filter->setAccessibleName(tr("Filter tensors by name"));
    m_filter->setClearButtonEnabled(true);
    m_filter->setMaximumWidth(px(220));
    m_keep = new QPushButton(tr("Keep"), &parent);
    m_keep->setToolTip(tr("Keep the selected tensor in memory until its gradient (K)"));
    m_recompute = new QPushButton(tr("Recompute"), &parent);
    m_recompute->setToolTip(tr("Drop the selected tensor and compute it again (R)"));
    row->addWidget(m_filter);
    row->addStretch(1);
    row->addWidget(m_keep);
    row->addWidget(m_recompute);
    static_cast<QVBoxLayout*>(parent.layout())->addLayout(row);
    connect(m_filter, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_items->setFilter(text);
        followSelection();
        emit captionChanged();
    });
    connect(m_keep, &QPushButton::clicked, this, [this] { choose(Decision::Keep); });
    connect(m_recompute, &QPushButton::clicked, this, [this] { choose(Decision::Recompute); });
}

void TensorsView::makeTable()
{
    m_table = newList(this, tr("Tensors"), *m_items, px(22));
    m_table->setTextElideMode(Qt::ElideRight);
    m_table->installEventFilter(this);
    QHeaderView* header = m_table->horizontalHeader();
    header->setStretchLastSection(true);
    header->setMinimumSectionSize(px(40));
    setColumnWidths(*m_table, {150, 66, 96, 128, 62, 92});
    sortOnClick(*m_table, [this] { followSelection(); });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &TensorsView::selectRow);
    connect(m_table, &QTableView::clicked, this, [this](const QModelIndex& index) {
        if (index.column() == TensorTableModel::DecisionColumn) {
            turn(index);
        }
    });
}

QString TensorsView::subject() const
{
    const auto all = static_cast<std::int64_t>(m_items->allRows());
    return all == 0 ? QString() : tr("%1 of %2").arg(countText(m_items->rowCount()), countText(all));
}

QString TensorsView::hint() const
{
    return tr("What is kept, what is computed again, and why. Click a decision to make it yours.");
}

bool TensorsView::canShow(const SelectedThing& thing) const
{
    return m_plan.plan() && rowOfThing(model(), thing, *m_plan.plan()).has_value();
}

base::Result<void> TensorsView::exportTo(const std::filesystem::path& path)
{
    takePlan(); // the pane may be hidden
    if (!m_items->plan()) {
        return base::usageError("there is no plan to export; show the workspace Plan first", path.string());
    }
    return base::writeFile(path, m_items->csv());
}

void TensorsView::refresh(Changes changes)
{
    if (m_plan.state() == PlanState::Absent) {
        m_plan.want();
    }
    if (m_items->plan() != m_plan.plan()) {
        takePlan();
        followSelection();
    } else if (changes.testFlag(Change::Selection)) {
        followSelection();
    }
    m_table->viewport()->update(); // choices
}

void TensorsView::takePlan()
{
    if (m_items->plan() != m_plan.plan()) {
        m_isFollowing = true;
        m_items->takePlan();
        m_isFollowing = false;
    }
}

void TensorsView::followSelection()
{
    const ShownPlanPointer& plan = m_items->plan();
    const auto row = plan ? rowOfThing(model(), selection().thing(), *plan) : std::nullopt;
    const int at = row && *row < plan->matrix.rows().size() ? m_items->rowWith(std::identity(), *row) : -1;
    m_isFollowing = true;
    if (at < 0) {
        m_table->clearSelection();
    } else if (m_table->currentIndex().row() != at || !m_table->selectionModel()->hasSelection()) {
        m_table->setCurrentIndex(m_items->index(at, TensorTableModel::NameColumn));
        m_table->scrollTo(m_items->index(at, 0));
    }
    m_isFollowing = false;
}

void TensorsView::selectRow(const QModelIndex& index)
{
    if (index.isValid() && !m_isFollowing && m_items->plan()) {
        selectRowOf(model(), selection(), *m_items->plan(), m_items->at(index.row()));
    }
}

void TensorsView::choose(Decision decision)
{
    const QModelIndex at = m_table->currentIndex();
    if (at.isValid() && m_items->plan()) {
        m_plan.choose(m_items->plan()->matrix.rows()[m_items->at(at.row())].value, decision);
    }
}

void TensorsView::turn(const QModelIndex& index)
{
    const ScheduleRow& row = m_items->plan()->matrix.rows()[m_items->at(index.row())];
    const Decision now = m_plan.choiceOf(row.value).value_or(row.decision);
    m_plan.choose(row.value, now == Decision::Recompute ? Decision::Keep : Decision::Recompute);
}

bool TensorsView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_table && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        const bool isPlain = (key->modifiers() & (Qt::ControlModifier | Qt::AltModifier)) == 0;
        if (isPlain && (key->key() == Qt::Key_K || key->key() == Qt::Key_R)) {
            choose(key->key() == Qt::Key_K ? Decision::Keep : Decision::Recompute);
            return true;
        }
    }
    return View::eventFilter(watched, event);
}

} // namespace retro::views

#include "moc_tensorsview.cpp"
