// SPDX-License-Identifier: Apache-2.0
#include "views/breakpoints/breakpointsview.h"

#include "views/breakpoints/breakpointmodel.h"
#include "views/breakpoints/breakpointwords.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/addrow.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/listtable.h"

#include <QAction>
#include <QCompleter>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace retro::views
{

BreakpointsView::BreakpointsView(RunModel& model, Cursor& cursor, Selection& selection, BreakpointList& list,
                                 QWidget* parent)
    : View(model, cursor, selection, parent), m_list(list)
{
    setAccessibleName(tr("Breakpoints"));
    setEmptyText(tr("Breakpoints stop a run where you want to look. Open a model first."));
    m_items = new BreakpointModel(list, this);
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeAddRow());
    m_message = new QLabel(body); // a problem is read in full
    m_message->setFont(fonts::label());
    m_message->setTextFormat(Qt::PlainText);
    m_message->setWordWrap(true);
    m_message->setContentsMargins(fonts::px(10), 0, fonts::px(10), fonts::px(6));
    column->addWidget(m_message);
    makeTable(body);
    column->addWidget(m_table, 1);
    setBody(body);
    connect(&list, &BreakpointList::changed, this, [this] {
        say({});
        emit captionChanged();
    });
    connect(m_items, &BreakpointModel::refused, this, &BreakpointsView::say);
    say({});
}

QWidget* BreakpointsView::makeAddRow()
{
    auto* row = new AddRow(
        {tr("node …, op …, violation, nan"), tr("Condition of a new breakpoint"),
         tr("Stop when: node NAME [in search], op TYPE, mode search, mode changes, promise opened [at NAME], "
            "promise fulfilled [at NAME], promise older 10, violation [0.0001], nan, layer, value NAME sum changes, "
            "value NAME max crosses 0.5, value NAME:0,3,1 sign, loss 5 [at NAME], frontier 12 tensors"),
         tr("Add a breakpoint"), tr("Add this condition; choose one when the line is empty")},
        this);
    m_line = &row->line();
    m_add = &row->button();
    connect(row, &AddRow::typed, this, &BreakpointsView::addTyped);
    connect(row, &AddRow::pressed, this, [this] {
        if (m_line->text().trimmed().isEmpty()) {
            showAddMenu();
        } else {
            addTyped();
        }
    });
    return row;
}

void BreakpointsView::makeTable(QWidget* parent)
{
    m_table = new QTableView(parent);
    m_table->setAccessibleName(tr("List of breakpoints"));
    m_table->setAlternatingRowColors(true);
    m_table->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
    m_table->setContextMenuPolicy(Qt::CustomContextMenu);
    m_table->setTextElideMode(Qt::ElideMiddle);
    makeList(*m_table, *m_items, fonts::px(24));
    QHeaderView* header = m_table->horizontalHeader();
    header->setSectionResizeMode(BreakpointModel::ConditionColumn, QHeaderView::Stretch);
    header->setSectionResizeMode(BreakpointModel::HitsColumn, QHeaderView::Fixed);
    header->resizeSection(BreakpointModel::HitsColumn, fonts::px(56));
    addItemAction(*m_table, tr("Remove"), QKeySequence::Delete, [this] { removeChosen(); });
    connect(m_table, &QTableView::customContextMenuRequested, this, &BreakpointsView::showMenu);
}

QString BreakpointsView::subject() const
{
    const auto& entries = m_list.entries();
    if (entries.empty()) {
        return {};
    }
    const auto on = std::count_if(entries.begin(), entries.end(), [](const auto& entry) { return entry.isEnabled; });
    return tr("%1 of %2 on").arg(on).arg(entries.size());
}

bool BreakpointsView::canShow(const SelectedThing& thing) const
{
    const auto* node = std::get_if<base::NodeId>(&thing);
    return node != nullptr && m_list.indexOf(*node).has_value();
}

void BreakpointsView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        updateCompletions();
    }
    m_items->setPosition(model().position());
    const std::optional<base::NodeId> node = selection().node();
    const auto at = node ? m_list.indexOf(*node) : std::nullopt;
    if (changes.testFlag(Change::Selection) && at) {
        m_table->selectRow(static_cast<int>(*at));
    }
}

void BreakpointsView::updateCompletions()
{
    delete m_line->completer();
    auto* completer = new QCompleter(model().derived<BreakpointWords>()->words, m_line);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    completer->setFilterMode(Qt::MatchContains);
    m_line->setCompleter(completer);
}

void BreakpointsView::say(const QString& problem)
{
    QPalette colors = m_message->palette();
    colors.setColor(QPalette::WindowText, theme(this)[problem.isEmpty() ? Role::Text2 : Role::AlarmText]);
    m_message->setPalette(colors);
    m_message->setText(problem.isEmpty() && m_list.entries().empty()
                           ? tr("Press F9 on a selected node, or type a condition.")
                           : problem);
    m_message->setVisible(!m_message->text().isEmpty());
}

void BreakpointsView::add(const QString& condition)
{
    const base::Result<void> done = m_list.add(condition);
    if (done) {
        m_line->clear();
        say({});
    } else {
        say(QString::fromStdString(done.error().message));
    }
}

void BreakpointsView::addTyped() { add(m_line->text()); }

void BreakpointsView::showAddMenu()
{
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    for (const ReadyCondition& ready : kReadyConditions) {
        menu->addAction(tr(ready.words), this, [this, condition = QLatin1String(ready.condition)] { add(condition); });
    }
    menu->popup(m_add->mapToGlobal(QPoint(0, m_add->height())));
}

void BreakpointsView::removeChosen()
{
    const QModelIndex index = m_table->currentIndex();
    if (index.isValid()) {
        m_list.remove(static_cast<std::size_t>(index.row()));
    }
}

void BreakpointsView::editAt(base::NodeId node)
{
    if (!m_list.indexOf(node)) {
        m_list.toggle(node);
    }
    if (const auto at = m_list.indexOf(node)) {
        const QModelIndex index = m_items->index(static_cast<int>(*at), BreakpointModel::ConditionColumn);
        m_table->setCurrentIndex(index);
        m_table->setFocus();
        m_table->edit(index);
    }
}

void BreakpointsView::goToHit(bool isForward)
{
    const QModelIndex index = m_table->currentIndex();
    const auto at = static_cast<std::size_t>(std::max(0, index.row()));
    if (!index.isValid() || !m_list.entries()[at].found) {
        return;
    }
    const trace::Breakpoint& breakpoint = *m_list.entries()[at].found;
    const auto stop = isForward ? trace::nextStop(model().run(), breakpoint, model().position())
                                : trace::previousStop(model().run(), breakpoint, model().position());
    if (stop) {
        cursor().moveTo(*stop);
    } else {
        say(isForward ? tr("It does not hold again after this step.") : tr("It does not hold before this step."));
    }
}

void BreakpointsView::showMenu(const QPoint& at)
{
    const QModelIndex index = m_table->indexAt(at);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (index.isValid()) {
        m_table->setCurrentIndex(index);
        menu->addAction(tr("Go to the next hit"), this, [this] { goToHit(true); });
        menu->addAction(tr("Go to the previous hit"), this, [this] { goToHit(false); });
        menu->addSeparator();
        menu->addAction(tr("Edit the condition"), this, [this] { m_table->edit(m_table->currentIndex()); });
        menu->addAction(tr("Remove"), this, &BreakpointsView::removeChosen);
    }
    QAction* all = menu->addAction(tr("Remove all"), &m_list, &BreakpointList::clear);
    all->setEnabled(!m_list.entries().empty());
    menu->popup(m_table->viewport()->mapToGlobal(at));
}

} // namespace retro::views

#include "moc_breakpointsview.cpp"
