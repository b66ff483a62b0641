// SPDX-License-Identifier: Apache-2.0
#include "views/promises/promisesview.h"

#include "core/base/file.h"
#include "views/common/csv.h"
#include "views/common/fonts.h"
#include "views/common/numbertext.h"
#include "views/promises/promisedelegate.h"
#include "views/promises/promisetreemodel.h"
#include "views/promises/whypane.h"

#include <QHeaderView>
#include <QMenu>
#include <QSplitter>
#include <QTreeView>

namespace retro::views
{

PromisesView::PromisesView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Promises"));
    setEmptyText(tr("No promises yet. Open a model and run it."));
    m_items = new PromiseTreeModel(model, this);
    m_splitter = new QSplitter(Qt::Vertical, this);
    m_splitter->setChildrenCollapsible(false);
    makeTree();
    m_why = new WhyPane(m_splitter);
    m_splitter->addWidget(m_why);
    m_splitter->setStretchFactor(0, 3);
    m_splitter->setStretchFactor(1, 2);
    connect(m_why, &WhyPane::openingRequested, this, &PromisesView::goToOpening);
    connect(m_why, &WhyPane::fulfilmentRequested, this, &PromisesView::goToFulfilment);
    connect(m_why, &WhyPane::nodeRequested, this, [this] {
        const base::NodeId node =
            this->model().hasRun() ? this->model().nodeOf(this->selection().thing()) : base::NodeId();
        if (node.isValid()) {
            this->selection().selectNode(node);
        }
    });
    setBody(m_splitter);
}

void PromisesView::makeTree()
{
    m_tree = new QTreeView(m_splitter);
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
    header->resizeSection(PromiseTreeModel::VisitsColumn,
                          static_cast<int>(fonts::widthOf(fonts::smallNumbers(), QStringLiteral("000 – 000"))) +
                              fonts::px(14));
    header->setMinimumSectionSize(fonts::px(40));
    m_splitter->addWidget(m_tree);
    connect(m_tree->selectionModel(), &QItemSelectionModel::currentChanged, this, &PromisesView::chooseRow);
    connect(m_tree, &QTreeView::doubleClicked, this, &PromisesView::goToOpening);
    connect(m_tree, &QTreeView::customContextMenuRequested, this, &PromisesView::showMenu);
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
               ? tr("This run raised no promise: every value that a rule needs was saved or passed on.")
               : QString();
}

void PromisesView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        m_items->resetRun();
        m_tree->expandAll();
    }
    if (changes.testFlag(Change::State)) {
        m_items->setPosition(model().position());
    }
    showSelection();
}

void PromisesView::showSelection()
{
    const std::optional<base::PromiseId> promise = selection().promise();
    const QModelIndex index = promise ? m_items->indexOf(*promise) : QModelIndex();
    if (!index.isValid()) {
        m_why->clear();
        if (!promise) {
            m_tree->selectionModel()->clear();
        }
        return;
    }
    const PromiseRow* current = PromiseTreeModel::rowAt(m_tree->currentIndex());
    if (current == nullptr || current->promise != *promise) {
        m_tree->setCurrentIndex(index);
    }
    const PromiseStory story = promiseStory(model(), m_items->forest(), *promise);
    const auto visit = [&](std::uint64_t position) {
        return countText(std::int64_t{model().run().visitOf(position - 1)} + 1);
    };
    m_why->setStory(story, visit(story.opened), story.fulfilled ? visit(*story.fulfilled) : QString());
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
    menu->addAction(tr("Go to where it is raised"), this, &PromisesView::goToOpening);
    QAction* fulfilment = menu->addAction(tr("Go to where it is fulfilled"), this, &PromisesView::goToFulfilment);
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

QByteArray PromisesView::saveState() const { return m_splitter->saveState(); }

void PromisesView::restoreState(const QByteArray& state) { m_splitter->restoreState(state); }

} // namespace retro::views
