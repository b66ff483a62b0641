// SPDX-License-Identifier: Apache-2.0
#include "views/log/logview.h"

#include "core/base/file.h"
#include "views/common/jobrunner.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/run/runtexts.h"
#include "views/common/run/timerange.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/listtable.h"
#include "views/common/widgets/rangechip.h"
#include "views/common/widgets/tabletext.h"
#include "views/log/logfilter.h"
#include "views/log/logmodel.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

/// Draws the rows of the event log: figures in mono, the mode as its mark, rows after the cursor in text3, the row of
/// the cursor on the selection colour with an accent line at its left.
class LogDelegate final : public QStyledItemDelegate
{
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

void paintGround(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const bool isCursor = index.data(LogModel::IsCursorRole).toBool();
    const bool isSelected = option.state.testFlag(QStyle::State_Selected);
    const Role ground = isCursor || isSelected ? Role::Sel : (index.row() % 2 == 1 ? Role::Alt : Role::Base);
    painter.fillRect(option.rect, colors[ground]);
    if (isCursor && index.column() == 0) {
        painter.fillRect(QRect(option.rect.left(), option.rect.top(), fonts::px(3), option.rect.height()),
                         colors[Role::Accent]);
    }
}

void paintMode(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const auto mode = static_cast<event::Mode>(index.data(LogModel::ModeRole).toInt());
    if (mode == event::Mode::None) {
        return;
    }
    const double side = fonts::px(15);
    const double top = std::round(option.rect.center().y() - side / 2 + 1);
    painter.setOpacity(index.data(LogModel::IsLaterRole).toBool() ? 0.6 : 1);
    paintModeMark(painter, QRectF(option.rect.left() + fonts::px(6), top, side, side), mode, colors);
}

void paintText(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const bool isFigure = index.column() == LogModel::EventColumn || index.column() == LogModel::VisitColumn ||
                          index.column() == LogModel::PromiseColumn || index.column() == LogModel::BytesColumn;
    const QFont font = isFigure ? fonts::smallNumbers() : fonts::label();
    const QRectF box = QRectF(option.rect).adjusted(fonts::px(6), 0, -fonts::px(6), 0);
    painter.setFont(font);
    painter.setPen(colors[index.data(LogModel::IsLaterRole).toBool() ? Role::Text3 : Role::Text]);
    painter.drawText(box, index.data(Qt::TextAlignmentRole).toInt() | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(index.data().toString(), Qt::ElideMiddle, std::ceil(box.width())));
}

void LogDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const Theme& colors = theme(option.widget);
    painter->save();
    painter->setClipRect(option.rect);
    paintGround(*painter, option, index, colors);
    if (index.column() == LogModel::ModeColumn) {
        paintMode(*painter, option, index, colors);
    } else {
        paintText(*painter, option, index, colors);
    }
    painter->restore();
}

constexpr int kTypingPause = 120;   // milliseconds without a key before the filter runs
constexpr double kUsualNode = 116;  // design pixels of the column of nodes …
constexpr double kLeastNode = 60;   // … in a narrow table
constexpr double kUsualWords = 220; // design pixels of what happened, before promises and bytes have a place
constexpr double kNodeShare = 0.36; // of what nodes and words share

} // namespace

LogView::LogView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent), m_items(new LogModel(this)), m_jobs(new JobRunner(this)),
      m_pause(new QTimer(this))
{
    setAccessibleName(tr("Event log"));
    setEmptyText(tr("Every change of state appears here as a row, once something was explained."));
    m_pause->setSingleShot(true);
    m_pause->setInterval(kTypingPause);
    connect(m_pause, &QTimer::timeout, this, &LogView::applyFilter);
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeFilterRow());
    makeTable();
    column->addWidget(m_table, 1);
    setBody(body);
}

QWidget* LogView::makeFilterRow()
{
    auto* box = new QWidget(this);
    auto* row = makeBox<QHBoxLayout>(box, {fonts::px(8), fonts::px(4), fonts::px(8), fonts::px(4)}, fonts::px(8));
    m_filter = new QLineEdit(box);
    m_filter->setPlaceholderText(tr("mode:fulfil node:/attn/ kind:land bytes>1k"));
    m_filter->setAccessibleName(tr("Filter of the event log"));
    m_filter->setToolTip(tr("All terms must hold. mode:search  kind:land,rule  node:/attn/  op:Conv  promise:3  "
                            "visit:10..20  event>100  bytes>1k  -kind:push\nA word alone is looked for in names, "
                            "operators and kinds; a leading - turns a term round."));
    m_filter->setClearButtonEnabled(true);
    m_message = new ElidedLabel({}, Role::Text3, fonts::label(), box);
    m_chip = new RangeChip(box);
    row->addWidget(m_filter, 2);
    row->addWidget(makeSavedButton(box));
    row->addWidget(m_chip);
    row->addWidget(m_message, 1);
    connect(m_filter, &QLineEdit::textChanged, m_pause, qOverload<>(&QTimer::start));
    connect(m_filter, &QLineEdit::returnPressed, this, &LogView::applyFilter);
    return box;
}

void LogView::makeTable()
{
    m_table = new QTableView(this);
    m_table->setAccessibleName(tr("Events"));
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_table->setContextMenuPolicy(Qt::CustomContextMenu);
    m_table->setItemDelegate(new LogDelegate(m_table));
    makeList(*m_table, *m_items, fonts::px(20));
    QHeaderView* header = m_table->horizontalHeader();
    header->setStretchLastSection(true);
    sizeWords();
    m_table->viewport()->installEventFilter(this); // the table hears of its size before its viewport has it
    addItemAction(*m_table, tr("Copy rows"), QKeySequence::Copy, [this] { copy(); });
    connect(m_table, &QTableView::activated, this, &LogView::goTo);
    connect(m_table, &QTableView::customContextMenuRequested, this, &LogView::showMenu);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, &LogView::chooseRow);
}

bool LogView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

QString LogView::emptyReason() const
{
    return model().hasRun() && model().run().eventCount() == 0
               ? tr("Nothing was run yet. Choose an input and press Run.")
               : QString();
}

void LogView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        m_items->setRun(model().sharedRun());
        sizeFigures();
        applyFilter();
    } else if (changes.testFlag(Change::Theme) && model().hasRun()) {
        sizeWords(); // the text may have another size
        sizeFigures();
        showCursorRow();
    }
    if (changes.testFlag(Change::State)) {
        m_items->setPosition(model().position());
        showCursorRow();
    }
}

/// Columns of words, in the size of the text.
void LogView::sizeWords()
{
    QHeaderView* header = m_table->horizontalHeader();
    header->setMinimumSectionSize(fonts::px(36));
    header->resizeSection(LogModel::ModeColumn, fonts::px(46));
    header->resizeSection(LogModel::KindColumn, fonts::px(76));
    header->resizeSection(LogModel::NodeColumn, fonts::px(kUsualNode));
}

/// As wide as the largest number or the title.
void LogView::sizeFigures()
{
    const auto fit = [&](int column, std::int64_t largest) {
        const double title = fonts::widthOf(fonts::label(QFont::DemiBold),
                                            m_items->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
        const double figure = fonts::widthOf(fonts::smallNumbers(), countText(largest));
        m_table->horizontalHeader()->resizeSection(column, static_cast<int>(std::max(title, figure)) + fonts::px(18));
    };
    fit(LogModel::EventColumn, static_cast<std::int64_t>(m_items->eventCount()));
    fit(LogModel::VisitColumn, model().run().visitCount());
    const double title = fonts::widthOf(fonts::label(QFont::DemiBold), tr("Promise"));
    const double size = fonts::widthOf(fonts::smallNumbers(), bytesText(999'900));
    m_table->horizontalHeader()->resizeSection(LogModel::PromiseColumn, static_cast<int>(title) + fonts::px(18));
    m_table->horizontalHeader()->resizeSection(LogModel::BytesColumn, static_cast<int>(size) + fonts::px(18));
    shareRoom();
}

void LogView::shareRoom()
{
    QHeaderView& header = *m_table->horizontalHeader();
    for (const int column : {LogModel::PromiseColumn, LogModel::BytesColumn}) {
        m_table->setColumnHidden(column, false);
    }
    int taken = 0;
    for (int column = 0; column < LogModel::WhatColumn; ++column) {
        taken += column == LogModel::NodeColumn ? 0 : header.sectionSize(column);
    }
    const int wanted = fonts::px(kUsualNode) + fonts::px(kUsualWords);
    for (const int column : {LogModel::BytesColumn, LogModel::PromiseColumn}) {
        if (m_table->viewport()->width() - taken < wanted) {
            taken -= header.sectionSize(column);
            m_table->setColumnHidden(column, true);
        }
    }
    const double room = (m_table->viewport()->width() - taken) * kNodeShare;
    header.resizeSection(LogModel::NodeColumn,
                         static_cast<int>(std::clamp<double>(room, fonts::px(kLeastNode), fonts::px(kUsualNode))));
}

bool LogView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_table->viewport() && event->type() == QEvent::Resize) {
        shareRoom();
        // The row was brought into another table: one behind tabs, or before the window had its size.
        constexpr int kDue = -1;
        if (m_scrolledTo == kDue || m_table->verticalScrollBar()->value() == m_scrolledTo) {
            m_scrolledTo = kDue;
            QTimer::singleShot(0, this, &LogView::showCursorRow); // the table does not know its rows in sight yet
        }
    }
    return View::eventFilter(watched, event);
}

void LogView::showCursorRow()
{
    const QModelIndex index = m_items->index(m_items->cursorRow(), 0);
    const QRect row = m_table->visualRect(index);
    const QRect sight = m_table->viewport()->rect();
    if (!index.isValid()) {
        m_table->scrollToTop();
    } else if (row.top() < sight.top() || row.bottom() > sight.bottom()) {
        m_table->scrollTo(index, QAbstractItemView::PositionAtCenter);
    }
    m_scrolledTo = m_table->verticalScrollBar()->value();
}

void LogView::setFilter(const QString& text)
{
    m_filter->setText(text);
    applyFilter();
}

QString LogView::filter() const { return m_filter->text(); }

bool LogView::isFiltering() const { return m_jobs->isRunning() || m_pause->isActive(); }

QString LogView::message() const { return m_message->text(); }

void LogView::showCount()
{
    const auto all = static_cast<std::int64_t>(m_items->eventCount());
    m_message->setRole(Role::Text3);
    m_message->setText(m_items->isFiltered() ? tr("%1 of %2 events").arg(countText(m_items->rowCount()), countText(all))
                                             : tr("%1 events").arg(countText(all)));
}

void LogView::applyFilter()
{
    m_pause->stop();
    m_jobs->cancel();
    if (!model().hasRun()) {
        return;
    }
    base::Result<LogFilter> filter = LogFilter::parse(m_filter->text());
    if (filter && m_range != nullptr && m_range->visits()) {
        filter = filter->within(m_range->visits()->first, m_range->visits()->last);
    }
    if (!filter) {
        m_message->setRole(Role::AlarmText);
        m_message->setText(QString::fromStdString(filter.error().message)); // the rows stay as they were
        return;
    }
    if (filter->isEmpty()) {
        m_items->clearRows();
        showCursorRow();
        showCount();
        return;
    }
    m_jobs->start(
        [this, run = model().sharedRun(), wanted = *filter](const std::stop_token& token) -> JobRunner::Delivery {
            return [this, steps = wanted.rows(*run, token)]() mutable {
                m_items->setRows(std::move(steps));
                showCursorRow();
                showCount();
            };
        });
}

void LogView::chooseRow(const QModelIndex& index)
{
    if (!index.isValid()) {
        return;
    }
    const base::NodeId node(model().run().events[m_items->stepAt(index.row())].node);
    if (node.isValid() && node.index() < model().graph().runNodeCount()) {
        selection().selectNode(node);
    }
}

void LogView::goTo(const QModelIndex& index)
{
    if (index.isValid()) {
        cursor().moveTo(m_items->stepAt(index.row()) + 1);
    }
}

QString LogView::copiedText() const
{
    QModelIndexList chosen = m_table->selectionModel()->selectedRows();
    std::sort(chosen.begin(), chosen.end());
    QString text;
    for (const QModelIndex& index : chosen.mid(0, kMostCopied)) {
        QStringList cells;
        for (int column = 0; column < LogModel::ColumnCount; ++column) {
            cells.append(index.siblingAtColumn(column).data().toString());
        }
        text += cells.join(QLatin1Char('\t')) + QLatin1Char('\n');
    }
    return text;
}

void LogView::copy()
{
    const QString text = copiedText();
    if (!text.isEmpty()) {
        QApplication::clipboard()->setText(text);
    }
}

void LogView::showMenu(const QPoint& at)
{
    const QModelIndex index = m_table->indexAt(at);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (index.isValid()) {
        menu->addAction(tr("Go to this event"), this, [this, index] { goTo(index); });
        menu->addAction(tr("Copy rows"), this, &LogView::copy);
        menu->addSeparator();
        const QString kind = index.siblingAtColumn(LogModel::KindColumn).data().toString();
        menu->addAction(tr("Only kind %1").arg(kind), this,
                        [this, kind] { setFilter(QStringLiteral("kind:") + kind); });
    }
    QAction* all = menu->addAction(tr("Show all events"), this, [this] {
        if (m_range != nullptr) {
            m_range->clear();
        }
        setFilter({});
    });
    all->setEnabled(m_items->isFiltered());
    menu->popup(m_table->viewport()->mapToGlobal(at));
}

std::string LogView::tableText(TableFormat format) const
{
    TableText text(format, "events", runTexts(model().run(), model().position()),
                   {"event", "visit", "mode", "kind", "node", "promise", "bytes", "what"});
    for (int row = 0; row < m_items->rowCount(); ++row) {
        const std::uint64_t step = m_items->stepAt(row);
        const trace::Event& e = model().run().events[step];
        const base::NodeId node(e.node);
        const bool isNode = node.isValid() && node.index() < model().graph().runNodeCount();
        const auto shown = [&](int column) { return m_items->index(row, column).data().toString(); };
        text.row(step + 1, e.visit + 1, shown(LogModel::ModeColumn), shown(LogModel::KindColumn),
                 isNode ? model().label(node) : QString(), m_items->promiseOf(step), m_items->bytesOf(step),
                 shown(LogModel::WhatColumn));
    }
    return text.take();
}

base::Result<void> LogView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun() || m_items->eventCount() == 0) {
        return base::usageError("there are no events to write", path.string());
    }
    RETRO_TRY(const TableFormat format, tableFormatOf(path));
    return base::writeFile(path, tableText(format));
}

} // namespace retro::views

#include "moc_logview.cpp"
