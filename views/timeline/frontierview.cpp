// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/frontierview.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/listtable.h"

#include <QHeaderView>
#include <QSignalBlocker>
#include <QTableView>

namespace retro::views
{

FrontierTable::FrontierTable(const RunModel& model, QObject* parent)
    : RecordTable(
          {{tr("Node"), [&model](const Member& one) { return model.placeLabel(one.node); }, Cells::Words, nullptr,
            [&model](const Member& one) { return model.label(one.node); }},
           {tr("State"), [this](const Member& one) { return stateText(one); }, Cells::Words, nullptr,
            [this](const Member& one) { return stateTip(one); }},
           {tr("ΣR"),
            [this](const Member& m) { return isForwardValue(m) ? QStringLiteral("–") : valueText(info(m).sum); },
            Cells::SmallFigures, nullptr,
            [this](const Member& one) {
                return isForwardValue(one) ? tr("It is a value of the forward pass and no relevance") : QString();
            }},
           {tr("Size"), [this](const Member& one) { return bytesText(info(one).bytes); }, Cells::SmallFigures}},
          parent),
      m_model(model)
{}

void FrontierTable::refresh()
{
    beginResetModel();
    takeRecords(m_model.hasRun() ? m_model.state().frontier() : std::vector<Member>());
    m_forward.clear();
    m_operands.clear();
    if (m_model.hasRun()) {
        const trace::RunState& state = m_model.state();
        for (const trace::PromiseState& promise : state.promises) {
            for (const trace::BranchState& branch : promise.branches) {
                m_forward.insert(branch.argument.value);
                m_operands.insert(branch.argument.value);
            }
        }
        for (std::size_t value = 0; value < state.planned.size() / 2; ++value) {
            m_forward.insert(state.planned[value].handle.value);
        }
    }
    endResetModel();
}

/// Arguments of promises and what a plan has in memory are forward values: their sums are no relevance.
bool FrontierTable::isForwardValue(const Member& member) const { return m_forward.contains(member.handle.value); }

trace::HandleInfo FrontierTable::info(const Member& member) const
{
    const bool isKnown = member.handle.isValid() && member.handle.index() < m_model.run().handles.size();
    return isKnown ? m_model.run().handles[member.handle.index()] : trace::HandleInfo();
}

QString FrontierTable::stateText(const Member& member) const
{
    return m_operands.contains(member.handle.value) ? tr("operand")
           : isForwardValue(member)                 ? tr("value")
           : member.heldByPromise                   ? tr("held")
                                                    : tr("landed");
}

QString FrontierTable::stateTip(const Member& member) const
{
    if (m_operands.contains(member.handle.value)) {
        return tr("An operand that the promise which starts here has found: a value of the forward pass");
    }
    return member.heldByPromise ? tr("A promise that starts here holds it") : QString();
}

FrontierView::FrontierView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Frontier"));
    setEmptyText(tr("Says which tensors of relevance are on their way. Open a model and run it."));
    m_items = new FrontierTable(model, this);
    m_table = new QTableView(this);
    makeList(*m_table, *m_items, fonts::px(22));
    m_table->setAccessibleName(tr("Members of the frontier"));
    m_table->setMinimumHeight(fonts::px(44)); // a low window stays low
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    m_table->horizontalHeader()->setResizeContentsPrecision(0); // of the rows in sight: there may be thousands
    m_table->horizontalHeader()->setSectionResizeMode(FrontierTable::NodeColumn, QHeaderView::Stretch);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& at) {
        if (at.isValid()) {
            this->selection().selectNode(m_items->at(at.row()).node);
        }
    });
    setBody(m_table);
}

QString FrontierView::subject() const
{
    if (!model().hasRun()) {
        return {};
    }
    const trace::RunState& state = model().state();
    const std::int64_t count = std::int64_t{state.frontierLanded} + state.frontierHeld;
    return (count == 1 ? tr("1 tensor, %1") : tr("%2 tensors, %1").arg(QStringLiteral("%1"), countText(count)))
        .arg(bytesText(state.frontierBytes.sum()));
}

bool FrontierView::canShow(const SelectedThing& thing) const
{
    return std::holds_alternative<std::monostate>(thing) || (model().hasRun() && model().nodeOf(thing).isValid());
}

void FrontierView::refresh(Changes changes)
{
    if (changes & (Change::Run | Change::State)) {
        const QSignalBlocker quiet(m_table->selectionModel());
        m_items->refresh();
        emit captionChanged();
    }
    showSelection();
}

/// The rows of the selected node, without choosing anything.
void FrontierView::showSelection()
{
    const base::NodeId node = model().nodeOf(selection().thing());
    QItemSelection rows;
    for (int row = 0; node.isValid() && row < m_items->rowCount(); ++row) {
        if (m_items->at(row).node == node) {
            rows.select(m_items->index(row, 0), m_items->index(row, FrontierTable::ColumnCount - 1));
        }
    }
    const QSignalBlocker quiet(m_table->selectionModel());
    m_table->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect);
    m_table->viewport()->update();
}

} // namespace retro::views

#include "moc_frontierview.cpp"
