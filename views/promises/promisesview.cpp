// SPDX-License-Identifier: Apache-2.0
#include "views/promises/promisesview.h"

#include "core/base/file.h"
#include "views/common/csv.h"
#include "views/common/fonts.h"
#include "views/common/numbertext.h"
#include "views/common/rangechip.h"
#include "views/common/timerange.h"
#include "views/promises/promisedelegate.h"
#include "views/promises/promisetreemodel.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QMenu>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>

#include <array>

namespace retro::views
{

PromisesView::PromisesView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Promises"));
    setEmptyText(tr("No promises yet. Open a model and run it."));
    m_items = new PromiseTreeModel(model, this);
    makeTree();
    auto* body = new QWidget(this);
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(makeFilterRow());
    column->addWidget(m_tree, 1);
    setBody(body);
}

void PromisesView::makeTree()
{
    m_tree = new QTreeView(this);
    m_tree->setAccessibleName(tr("Tree of promises"));
    m_tree->setFrameShape(QFrame::NoFrame);
    m_tree->setModel(m_items);
    m_tree->setItemDelegate(new PromiseDelegate(m_tree));
    m_tree->setUniformRowHeights(true);
    m_tree->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_tree->setContextMenuPolicy(Qt::CustomContextMenu);
    m_tree->setExpandsOnDoubleClick(false);
    QHeaderView* header = m_tree->header();
    header->setStretchLastSection(false);
    header->setSectionResizeMode(PromiseTreeModel::NameColumn, QHeaderView::Stretch);
    header->setSectionResizeMode(PromiseTreeModel::StateColumn, QHeaderView::Fixed);
    header->setSectionResizeMode(PromiseTreeModel::VisitsColumn, QHeaderView::Fixed);
    header->resizeSection(PromiseTreeModel::StateColumn,
                          static_cast<int>(fonts::widthOf(fonts::label(), wordOf(PromiseRowState::Fulfilled))) +
                              fonts::px(34));
    header->setMinimumSectionSize(fonts::px(40));
    connect(m_tree->selectionModel(), &QItemSelectionModel::currentChanged, this, &PromisesView::chooseRow);
    connect(m_tree, &QTreeView::doubleClicked, this, &PromisesView::goToOpening);
    connect(m_tree, &QTreeView::customContextMenuRequested, this, &PromisesView::showMenu);
}

QWidget* PromisesView::makeFilterRow()
{
    auto* box = new QWidget(this);
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(fonts::px(8), 0, fonts::px(8), fonts::px(4));
    row->setSpacing(0);
    auto* group = new QButtonGroup(this);
    const std::array names{tr("All"), tr("Waiting"), tr("Fulfilled")};
    const std::array tips{tr("Every promise of the run, also those still to come"), tr("Only what waits at this step"),
                          tr("Only what is fulfilled at this step")};
    for (std::size_t i = 0; i < names.size(); ++i) {
        auto* button = new QToolButton(box);
        button->setText(names[i]);
        button->setToolTip(tips[i]);
        button->setCheckable(true);
        button->setChecked(i == 0);
        button->setProperty("segment", true);
        group->addButton(button);
        row->addWidget(button);
        connect(button, &QToolButton::clicked, this, [this, i] { setFilter(static_cast<Filter>(i)); });
        m_filterButtons.push_back(button);
    }
    row->addStretch(1);
    m_chip = new RangeChip(box);
    row->addWidget(m_chip);
    return box;
}

void PromisesView::setFilter(Filter filter)
{
    m_filter = filter;
    m_filterButtons[static_cast<std::size_t>(filter)]->setChecked(true);
    applyFilter();
}

void PromisesView::restoreState(const QByteArray& state)
{
    const int filter = state.toInt();
    setFilter(filter == 1 || filter == 2 ? static_cast<Filter>(filter) : Filter::All);
}

void PromisesView::applyFilter()
{
    for (const auto& root : m_items->forest().roots()) {
        showRow(*root, {});
    }
}

void PromisesView::followRange(TimeRange& range)
{
    m_range = &range;
    m_chip->follow(range);
    connect(&range, &TimeRange::changed, this, &PromisesView::applyFilter);
    applyFilter();
}

/// By itself, whatever is below it: in the wanted state, and open somewhere in the part of the run that is listed.
bool PromisesView::isWanted(const PromiseRow& row) const
{
    const PromiseForest& forest = m_items->forest();
    const PromiseRowState wanted = m_filter == Filter::Waiting ? PromiseRowState::Waits : PromiseRowState::Fulfilled;
    if (m_filter != Filter::All && forest.stateOf(row, m_items->position()) != wanted) {
        return false;
    }
    if (m_range == nullptr || !m_range->visits() || !model().hasRun()) {
        return true;
    }
    const PositionRange range = m_range->positionsIn(model().run());
    const PromiseFacts& facts = forest.promises()[row.promise.index()];
    return facts.raisedAt < range.end && facts.completedAt.value_or(range.end) >= range.begin;
}

/// Shows or hides a row and those below it; true when it is shown. As deep as the forest, which is bounded.
bool PromisesView::showRow(const PromiseRow& row, const QModelIndex& parent)
{
    bool isShown = isWanted(row);
    const QModelIndex index = m_items->index(row.position, 0, parent);
    for (const auto& child : row.children) {
        isShown = showRow(*child, index) || isShown;
    }
    m_tree->setRowHidden(row.position, parent, !isShown);
    return isShown;
}

QString PromisesView::subject() const
{
    const PromiseForest& forest = m_items->forest();
    if (forest.isEmpty()) {
        return {};
    }
    const std::uint64_t now = m_items->position();
    return tr("%1 waiting, %2 fulfilled")
        .arg(countText(static_cast<std::int64_t>(forest.waiting(now))),
             countText(static_cast<std::int64_t>(forest.fulfilled(now))));
}

bool PromisesView::canShow(const SelectedThing& thing) const
{
    const auto* promise = std::get_if<base::PromiseId>(&thing);
    return promise != nullptr && m_items->indexOf(*promise).isValid();
}

QString PromisesView::emptyReason() const
{
    return m_items->forest().isEmpty()
               ? tr("This run opened no promise: every value that a rule needs was saved or passed on.")
               : QString();
}

void PromisesView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        m_items->resetRun();
        const QString last = countText(model().run().visitCount());
        m_tree->header()->resizeSection(
            PromiseTreeModel::VisitsColumn,
            static_cast<int>(fonts::widthOf(fonts::smallNumbers(), QStringLiteral("%1 – %1").arg(last))) +
                fonts::px(18));
        m_tree->expandAll();
    }
    if (changes.testFlag(Change::State)) {
        m_items->setPosition(model().position());
    }
    const bool hasRange = m_range != nullptr && m_range->visits();
    if (changes.testFlag(Change::Run) ? hasRange || m_filter != Filter::All
                                      : m_filter != Filter::All && changes.testFlag(Change::State)) {
        applyFilter();
    }
    showSelection();
}

void PromisesView::showSelection()
{
    const std::optional<base::PromiseId> promise = selection().promise();
    const QModelIndex index = promise ? m_items->indexOf(*promise) : QModelIndex();
    if (!index.isValid()) {
        if (!promise) {
            m_tree->selectionModel()->clear();
        }
        return;
    }
    const PromiseRow* current = PromiseTreeModel::rowAt(m_tree->currentIndex());
    if (current == nullptr || current->promise != *promise) {
        m_tree->setCurrentIndex(index);
    }
}

void PromisesView::chooseRow(const QModelIndex& index)
{
    if (const PromiseRow* row = PromiseTreeModel::rowAt(index)) {
        selection().selectPromise(row->promise);
    }
}

void PromisesView::goToOpening()
{
    const std::optional<base::PromiseId> promise = selection().promise();
    if (promise && m_items->indexOf(*promise).isValid()) {
        cursor().moveTo(m_items->forest().promises()[promise->index()].raisedAt + 1);
    }
}

void PromisesView::goToFulfilment()
{
    const std::optional<base::PromiseId> promise = selection().promise();
    if (!promise || !m_items->indexOf(*promise).isValid()) {
        return;
    }
    const auto& completedAt = m_items->forest().promises()[promise->index()].completedAt;
    if (completedAt) {
        cursor().moveTo(*completedAt + 1);
    }
}

void PromisesView::showMenu(const QPoint& at)
{
    const PromiseRow* row = PromiseTreeModel::rowAt(m_tree->indexAt(at));
    if (row == nullptr) {
        return;
    }
    selection().selectPromise(row->promise);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->addAction(tr("Go to its opening"), this, &PromisesView::goToOpening);
    QAction* fulfilment = menu->addAction(tr("Go to its fulfilment"), this, &PromisesView::goToFulfilment);
    fulfilment->setEnabled(m_items->forest().promises()[row->promise.index()].completedAt.has_value());
    menu->popup(m_tree->viewport()->mapToGlobal(at));
}

std::string PromisesView::csv() const
{
    CsvText text({"promise", "kind", "node", "branches", "raised", "fulfilled"});
    const std::vector<PromiseFacts>& promises = m_items->forest().promises();
    for (std::size_t i = 0; i < promises.size(); ++i) {
        const PromiseFacts& facts = promises[i];
        text.add(static_cast<std::int64_t>(i))
            .add(QString::fromUtf8(event::nameOf(facts.kind).data()))
            .add(model().label(facts.start))
            .add(static_cast<std::int64_t>(facts.branches.size()))
            .add(static_cast<std::int64_t>(facts.raisedAt));
        if (facts.completedAt) {
            text.add(static_cast<std::int64_t>(*facts.completedAt));
        } else {
            text.add(QString());
        }
        text.endRow();
    }
    return text.take();
}

base::Result<void> PromisesView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun()) {
        return base::usageError("there are no promises to write", path.string());
    }
    return base::writeFile(path, csv());
}

} // namespace retro::views
