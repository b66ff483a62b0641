// SPDX-License-Identifier: Apache-2.0
#include "views/watch/watchview.h"

#include "core/base/file.h"
#include "views/common/csv.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/addrow.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/listtable.h"
#include "views/watch/watchmodel.h"

#include <QHeaderView>
#include <QTableView>
#include <QVBoxLayout>

namespace retro::views
{

WatchView::WatchView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent), m_items(new WatchModel(model, this))
{
    setAccessibleName(tr("Watch"));
    setEmptyText(tr("Numbers that you want to see at every step. Open a model first."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeAddRow());
    m_message = new ElidedLabel({}, Role::Text2, fonts::label(), body);
    m_message->setContentsMargins(fonts::px(10), 0, fonts::px(10), fonts::px(6));
    column->addWidget(m_message);
    makeTable();
    column->addWidget(m_table, 1);
    setBody(body);
    connect(m_items, &WatchModel::refused, this, [this](const QString& why) { say(why, true); });
    connect(m_items, &QAbstractItemModel::rowsInserted, this, &WatchView::captionChanged);
    connect(m_items, &QAbstractItemModel::rowsRemoved, this, &WatchView::captionChanged);
    say({}, false);
}

QWidget* WatchView::makeAddRow()
{
    auto* row =
        new AddRow({tr("R(node), V(node).max, R(node)[0,3]"), tr("Expression to watch"),
                    tr("R is relevance, V the value of a node. After a dot: sum, min, max, mean, norm or nan; "
                       "in brackets the index of one element."),
                    tr("Add an expression"), tr("Watch this expression; empty: the relevance of what is selected")},
                   this);
    m_line = &row->line();
    connect(row, &AddRow::typed, this, &WatchView::addTyped);
    connect(row, &AddRow::pressed, this, &WatchView::addTyped);
    return row;
}

void WatchView::makeTable()
{
    m_table = new QTableView(this);
    m_table->setAccessibleName(tr("Watched expressions"));
    m_table->setAlternatingRowColors(true);
    m_table->setEditTriggers(QAbstractItemView::EditKeyPressed);
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
    m_table->setTextElideMode(Qt::ElideMiddle);
    makeList(*m_table, *m_items, fonts::px(24));
    QHeaderView* header = m_table->horizontalHeader();
    header->setSectionResizeMode(WatchModel::ExpressionColumn, QHeaderView::Stretch);
    const auto number = static_cast<int>(fonts::widthOf(fonts::numbers(), QStringLiteral("▲ −1.234e-05")));
    header->resizeSection(WatchModel::NumberColumn, number + fonts::px(16));
    header->resizeSection(WatchModel::ChangeColumn, number + fonts::px(16));
    addItemAction(*m_table, tr("Go to where it is known"), {}, [this] { goTo(m_table->currentIndex()); });
    addItemAction(*m_table, tr("Change the expression"), {},
                  [this] { m_table->edit(m_table->currentIndex().siblingAtColumn(WatchModel::ExpressionColumn)); });
    addItemAction(*m_table, tr("Remove"), QKeySequence::Delete, [this] { removeChosen(); });
    connect(m_table, &QTableView::activated, this, &WatchView::goTo);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, &WatchView::chooseRow);
}

QString WatchView::subject() const
{
    const int count = m_items->rowCount();
    return count == 0 ? QString() : count == 1 ? tr("1 expression") : tr("%1 expressions").arg(count);
}

bool WatchView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

void WatchView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        m_items->setRun();
    } else if (changes.testFlag(Change::State)) {
        m_items->follow();
    }
}

void WatchView::say(const QString& what, bool isProblem)
{
    m_message->setRole(isProblem ? Role::AlarmText : Role::Text2);
    m_message->setText(what);
    m_message->setVisible(!what.isEmpty());
}

QString WatchView::message() const { return m_message->text(); }

void WatchView::addTyped()
{
    if (m_line->text().trimmed().isEmpty()) {
        addNode(model().hasRun() ? model().nodeOf(selection().thing()) : base::NodeId());
        return;
    }
    add(m_line->text());
    if (message().isEmpty()) {
        m_line->clear();
    }
}

void WatchView::add(const QString& expression)
{
    const auto added = m_items->add(expression);
    say(added.ok() ? QString() : QString::fromStdString(added.error().message), !added.ok());
}

void WatchView::addNode(base::NodeId node)
{
    if (!node.isValid()) {
        say(tr("Write an expression, or select a node first."), false);
        return;
    }
    WatchExpression expression;
    expression.name = model().label(node);
    add(expression.text());
}

void WatchView::chooseRow(const QModelIndex& index)
{
    const base::ValueId value = index.isValid() ? m_items->valueAt(index.row()) : base::ValueId();
    if (value.isValid()) {
        selection().selectValue(value);
    }
}

void WatchView::goTo(const QModelIndex& index)
{
    const base::ValueId value = index.isValid() ? m_items->valueAt(index.row()) : base::ValueId();
    const base::NodeId node = value.isValid() ? model().graph().nodeOf(value) : base::NodeId();
    if (!node.isValid()) {
        return;
    }
    if (const auto step = model().relevanceStep(node, model().graph().value(value).producerOutput)) {
        cursor().moveTo(*step);
    }
}

void WatchView::removeChosen()
{
    if (const QModelIndex index = m_table->currentIndex(); index.isValid()) {
        m_items->remove(index.row());
    }
}

base::Result<void> WatchView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun() || m_items->rowCount() == 0) {
        return base::usageError("nothing is watched", path.string());
    }
    CsvText text({"expression", "number", "reason"});
    const QStringList names = m_items->texts();
    for (int row = 0; row < m_items->rowCount(); ++row) {
        const WatchResult& result = m_items->resultAt(row);
        text.row(names[row], result.number, result.reason);
    }
    return base::writeFile(path, text.take());
}

QByteArray WatchView::saveState() const { return m_items->texts().join(QLatin1Char('\n')).toUtf8(); }

void WatchView::restoreState(const QByteArray& state)
{
    m_items->removeAll();
    for (const QString& text : QString::fromUtf8(state).split(QLatin1Char('\n'), Qt::SkipEmptyParts)) {
        static_cast<void>(m_items->add(text)); // what an older version wrote otherwise is left out
    }
    emit captionChanged();
}

} // namespace retro::views

#include "moc_watchview.cpp"
