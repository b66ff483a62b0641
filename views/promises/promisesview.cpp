// SPDX-License-Identifier: Apache-2.0
#include "views/promises/promisesview.h"

#include "core/base/file.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/common/run/timerange.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/rangechip.h"
#include "views/common/widgets/tabletext.h"
#include "views/promises/promisefigures.h"
#include "views/promises/promisetable.h"
#include "views/promises/promisetreemodel.h"
#include "views/promises/waitchart.h"

#include <QApplication>
#include <QButtonGroup>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QSignalBlocker>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

/// Draws the rows of the promise tree: bold id and node name, state as symbol and word, visits in mono at the right.
class PromiseDelegate final : public QStyledItemDelegate
{
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

QColor textColor(PromiseRowState state, const Theme& colors)
{
    switch (state) {
    case PromiseRowState::Waits:
        return colors[Role::SearchText];
    case PromiseRowState::Fulfilled:
        return colors[Role::FulfilText];
    default:
        return colors[Role::Text3];
    }
}

void paintSymbol(QPainter& painter, const QPointF& center, PromiseRowState state, const Theme& colors)
{
    const double radius = fonts::px(5);
    switch (state) {
    case PromiseRowState::Waits:
        return paintDiamond(painter, center, radius, colors[Role::SearchLine], false);
    case PromiseRowState::Fulfilled:
        return paintDiamond(painter, center, radius, colors[Role::FulfilLine], true);
    case PromiseRowState::Found:
        return paintTick(painter, center, radius - 1, colors[Role::Text3]);
    case PromiseRowState::Constant:
        painter.setPen(colors[Role::Text3]);
        painter.setFont(fonts::content());
        painter.drawText(QRectF(center.x() - radius, center.y() - 10, 2 * radius, 20), Qt::AlignCenter,
                         QStringLiteral("="));
        return;
    case PromiseRowState::NotYet:
        return;
    }
}

void paintName(QPainter& painter, const QRectF& box, const QModelIndex& index, const QColor& color)
{
    const QString id = index.data(PromiseTreeModel::IdRole).toString();
    const QString place = index.data(PromiseTreeModel::PlaceRole).toString();
    const bool isPromise = index.data(PromiseTreeModel::IsBoldRole).toBool();
    const QFont bold = fonts::label(isPromise ? QFont::DemiBold : QFont::Normal);
    const QFont plain = fonts::label();
    painter.setPen(color);
    painter.setFont(bold);
    painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, id);
    const double width = fonts::widthOf(bold, id) + fonts::widthOf(plain, QStringLiteral(" "));
    painter.setFont(plain);
    const QRectF rest = box.adjusted(width, 0, 0, 0);
    painter.drawText(rest, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                     QFontMetricsF(plain).elidedText(place, Qt::ElideMiddle, rest.width()));
}

void paintFigure(QPainter& painter, const QRectF& box, const QModelIndex& index, const QColor& color)
{
    const bool isLeft = index.column() == PromiseTreeModel::ShapeColumn;
    const QFont font = fonts::smallNumbers();
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(box, (isLeft ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(index.data().toString(), Qt::ElideMiddle, std::ceil(box.width())));
}

void PromiseDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const Theme& colors = theme(option.widget);
    QStyleOptionViewItem plain = option;
    initStyleOption(&plain, index);
    plain.text.clear();
    plain.state.setFlag(QStyle::State_HasFocus, false);
    QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &plain, painter, option.widget);

    const auto state = static_cast<PromiseRowState>(index.data(PromiseTreeModel::StateRole).toInt());
    const bool isLater = state == PromiseRowState::NotYet;
    const QRectF box = QRectF(option.rect).adjusted(fonts::px(4), 0, -fonts::px(6), 0);
    painter->save();
    painter->setClipRect(option.rect);
    switch (index.column()) {
    case PromiseTreeModel::NameColumn:
        paintName(*painter, box, index, colors[isLater ? Role::Text3 : Role::Text]);
        break;
    case PromiseTreeModel::StateColumn: {
        const double symbol = fonts::px(14);
        paintSymbol(*painter, {box.left() + symbol / 2, box.center().y()}, state, colors);
        painter->setFont(fonts::label());
        painter->setPen(textColor(state, colors));
        painter->drawText(box.adjusted(symbol + 4, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, index.data().toString());
        break;
    }
    default:
        paintFigure(*painter, box, index, colors[Role::Text2]);
        break;
    }
    painter->restore();
}

QSize PromiseDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    QSize size = QStyledItemDelegate::sizeHint(option, index);
    size.setHeight(fonts::px(24));
    return size;
}

/// More promises than this start closed: nobody reads them all, and laying out every branch takes long.
constexpr std::size_t kMostOpened = 1000;
constexpr double kLeastName = 124;             // design pixels of the column of names
constexpr std::size_t kMeasuredShapes = 2'000; // promises whose shapes decide about the width of their column
} // namespace

PromisesView::PromisesView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Promises"));
    setEmptyText(tr("No promises yet. Open a model and run it."));
    m_items = new PromiseTreeModel(model, this);
    makeTree();
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeFilterRow());
    column->addWidget(m_tree, 1);
    m_nothing = new QLabel(body);
    m_nothing->setFont(fonts::label());
    m_nothing->setAlignment(Qt::AlignCenter);
    m_nothing->setWordWrap(true);
    m_nothing->setMargin(fonts::px(16));
    m_nothing->hide();
    column->addWidget(m_nothing, 1);
    m_waits = new WaitChart(body);
    m_waits->hide();
    column->addWidget(m_waits);
    setBody(body);
}

void PromisesView::makeTree()
{
    m_tree = new QTreeView(this);
    m_tree->setMinimumHeight(fonts::px(44)); // a low window stays low
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
    header->setMinimumSectionSize(fonts::px(32));
    for (int column = 0; column < PromiseTreeModel::ColumnCount; ++column) {
        header->setSectionResizeMode(column, column == PromiseTreeModel::NameColumn ? QHeaderView::Stretch
                                                                                    : QHeaderView::Fixed);
    }
    m_tree->viewport()->installEventFilter(this); // the tree hears of its size before its viewport has it
    connect(m_tree->selectionModel(), &QItemSelectionModel::currentChanged, this, &PromisesView::chooseRow);
    connect(m_tree, &QTreeView::doubleClicked, this, &PromisesView::goToOpening);
    connect(m_tree, &QTreeView::customContextMenuRequested, this, &PromisesView::showMenu);
}

/// As wide as the widest that may stand in them; shapes may be cut.
void PromisesView::sizeColumns()
{
    const auto fit = [&](int column, const QFont& font, const QStringList& texts, double extra) {
        double width = fonts::widthOf(fonts::label(QFont::DemiBold),
                                      m_items->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
        for (const QString& text : texts) {
            width = std::max(width, fonts::widthOf(font, text) + extra);
        }
        m_tree->header()->resizeSection(column, static_cast<int>(std::ceil(width)) + fonts::px(12));
    };
    const QString visits = countText(model().run().visitCount());
    const std::vector<PromiseFacts>& promises = m_items->forest().promises();
    std::uint32_t depth = 0;
    QStringList shapes;
    for (std::size_t i = 0; i < promises.size(); ++i) {
        depth = std::max(depth, promises[i].depth);
        if (i < kMeasuredShapes) {
            shapes.append(shapeText(model().run(), promises[i]));
        }
    }
    shapes.removeDuplicates();
    QStringList states{wordOf(PromiseRowState::Fulfilled), wordOf(PromiseRowState::Constant)};
    for (const auto& root : m_items->forest().roots()) {
        if (root->layer) {
            states << m_items->layerText({0, m_items->forest().layers()[*root->layer].promises.size(), 0});
        }
    }
    fit(PromiseTreeModel::StateColumn, fonts::label(), states, fonts::px(16));
    fit(PromiseTreeModel::OpenedColumn, fonts::smallNumbers(), {visits}, 0);
    fit(PromiseTreeModel::AgeColumn, fonts::smallNumbers(), {visits}, 0);
    fit(PromiseTreeModel::DepthColumn, fonts::smallNumbers(), {QString::number(depth)}, 0);
    fit(PromiseTreeModel::ShapeColumn, fonts::smallNumbers(), shapes, 0);
    fit(PromiseTreeModel::BytesColumn, fonts::smallNumbers(), {bytesText(999'900)}, 0);
    shareRoom();
}

void PromisesView::shareRoom()
{
    // Who must go first when there is no room.
    constexpr std::array kLeastFirst{PromiseTreeModel::DepthColumn, PromiseTreeModel::ShapeColumn,
                                     PromiseTreeModel::BytesColumn, PromiseTreeModel::OpenedColumn,
                                     PromiseTreeModel::AgeColumn};
    QHeaderView& header = *m_tree->header();
    for (const int column : kLeastFirst) {
        m_tree->setColumnHidden(column, false);
    }
    int wanted = fonts::px(kLeastName);
    for (int column = PromiseTreeModel::StateColumn; column < PromiseTreeModel::ColumnCount; ++column) {
        wanted += header.sectionSize(column);
    }
    for (const int column : kLeastFirst) {
        if (wanted <= m_tree->viewport()->width()) {
            return;
        }
        wanted -= header.sectionSize(column);
        m_tree->setColumnHidden(column, true);
    }
}

void PromisesView::resizeEvent(QResizeEvent* event)
{
    View::resizeEvent(event);
    showWaits();
}

bool PromisesView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_tree->viewport() && event->type() == QEvent::Resize) {
        shareRoom();
    }
    return View::eventFilter(watched, event);
}

QWidget* PromisesView::makeFilterRow()
{
    auto* box = new QWidget(this);
    auto* lines = new QVBoxLayout(box); // a narrow pane has no room for the chip beside the buttons
    lines->setContentsMargins(fonts::px(8), 0, fonts::px(8), fonts::px(4));
    lines->setSpacing(fonts::px(4));
    auto* row = new QHBoxLayout;
    row->setSpacing(0);
    auto* group = new QButtonGroup(this);
    const std::array names{tr("All"), tr("Waiting"), tr("Fulfilled"), tr("Stuck")};
    const std::array tips{tr("Every promise of the run, also those still to come"), tr("Only what waits at this step"),
                          tr("Only what is fulfilled at this step"),
                          tr("Only what waits at this step and is never answered in this run")};
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
    lines->addLayout(row);
    m_chip = new RangeChip(box);
    lines->addWidget(m_chip, 0, Qt::AlignLeft);
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
    const bool isKnown = filter >= 0 && filter <= static_cast<int>(Filter::Stuck);
    setFilter(isKnown ? static_cast<Filter>(filter) : Filter::All);
}

void PromisesView::applyFilter()
{
    bool isAnyShown = m_items->forest().isEmpty(); // then the view says so
    for (const auto& root : m_items->forest().roots()) {
        isAnyShown = showRow(*root, {}) || isAnyShown;
    }
    m_nothing->setText(isAnyShown ? QString() : nothingText());
    m_nothing->setVisible(!isAnyShown);
    m_tree->setVisible(isAnyShown);
}

QString PromisesView::nothingText() const
{
    if (m_range != nullptr && m_range->visits()) {
        return tr("No such promise in %1.").arg(m_range->text());
    }
    switch (m_filter) {
    case Filter::Waiting:
        return tr("No promise waits at this step.");
    case Filter::Fulfilled:
        return tr("No promise is fulfilled yet at this step.");
    case Filter::Stuck:
        return tr("No promise is stuck: whatever waits at this step is answered later in the run.");
    case Filter::All:
        break;
    }
    return {};
}

void PromisesView::followRange(TimeRange& range)
{
    m_range = &range;
    m_chip->follow(range);
    connect(&range, &TimeRange::changed, this, &PromisesView::applyFilter);
    applyFilter();
}

bool PromisesView::isInState(const PromiseRow& row) const
{
    const PromiseForest& forest = m_items->forest();
    const std::uint64_t now = m_items->position();
    switch (m_filter) {
    case Filter::Waiting:
        return forest.stateOf(row, now) == PromiseRowState::Waits;
    case Filter::Fulfilled:
        return forest.stateOf(row, now) == PromiseRowState::Fulfilled;
    case Filter::Stuck:
        return forest.isStuck(row, now);
    case Filter::All:
        break;
    }
    return true;
}

/// By itself, whatever is below it: in the wanted state, and open somewhere in the part of the run that is listed.
bool PromisesView::isWanted(const PromiseRow& row) const
{
    const PromiseForest& forest = m_items->forest();
    if (row.layer || !isInState(row)) {
        return false; // a layer is shown with what is in it
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
    const QString counts = tr("%1 waiting, %2 fulfilled")
                               .arg(countText(static_cast<std::int64_t>(forest.waiting(now))),
                                    countText(static_cast<std::int64_t>(forest.fulfilled(now))));
    const std::size_t stuck = forest.stuck(now);
    return stuck == 0 ? counts : tr("%1, %2 stuck").arg(counts, countText(static_cast<std::int64_t>(stuck)));
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
        sizeColumns();
        const PromiseForest& forest = m_items->forest();
        if (forest.layers().empty() && forest.promises().size() <= kMostOpened) {
            m_tree->expandAll();
        }
    } else if (changes.testFlag(Change::Theme) && model().hasRun()) {
        sizeColumns(); // the text may have another size
    }
    if (changes.testFlag(Change::State)) {
        m_items->setPosition(model().position());
        m_tree->viewport()->update(); // ages and bytes of what is in sight
    }
    showWaits();
    QPalette palette = m_nothing->palette();
    palette.setColor(QPalette::WindowText, theme(this)[Role::Text3]);
    m_nothing->setPalette(palette);
    const bool hasRange = m_range != nullptr && m_range->visits();
    if (changes.testFlag(Change::Run) ? hasRange || m_filter != Filter::All
                                      : m_filter != Filter::All && changes.testFlag(Change::State)) {
        applyFilter();
    }
    showSelection();
}

/// The tree needs its rows first.
void PromisesView::showWaits()
{
    constexpr double kLeastTree = 150; // design pixels
    const bool isMany = model().hasRun() && m_items->forest().promises().size() >= kFewestToFold;
    const bool hasRoom = height() >= fonts::px(kLeastTree) + m_waits->sizeHint().height();
    m_waits->setVisible(isMany && hasRoom);
    if (isMany && hasRoom) {
        m_waits->setCounts(waitCounts(model().run(), m_items->forest(), m_items->position()));
    }
}

void PromisesView::showSelection()
{
    const std::optional<base::PromiseId> promise = selection().promise();
    const QModelIndex index = promise ? m_items->indexOf(*promise) : QModelIndex();
    if (!index.isValid()) {
        if (!promise) {
            followNewest();
        }
        return;
    }
    m_followed = {};
    const PromiseRow* current = PromiseTreeModel::rowAt(m_tree->currentIndex());
    if (current == nullptr || current->promise != *promise) {
        m_tree->setCurrentIndex(index);
    }
}

/// Walks back from the cursor to the last event that changed a promise.
base::PromiseId PromisesView::newestChange() const
{
    constexpr std::uint64_t kFurthest = 20'000;
    const std::vector<trace::Event>& events = model().run().events;
    const std::uint64_t position = std::min<std::uint64_t>(model().position(), events.size());
    for (std::uint64_t step = position; step > 0 && position - step < kFurthest; --step) {
        const trace::Event& e = events[step - 1];
        const bool isChange = e.kind == event::EventKind::NewPromise || e.kind == event::EventKind::AddParent ||
                              e.kind == event::EventKind::Arg || e.kind == event::EventKind::Complete;
        if (isChange) {
            return base::PromiseId(e.promise);
        }
    }
    return {};
}

void PromisesView::followNewest()
{
    const base::PromiseId newest = newestChange();
    const QModelIndex index = newest.isValid() ? m_items->indexOf(newest) : QModelIndex();
    const QSignalBlocker quiet(m_tree->selectionModel()); // nothing is chosen by this
    m_followed = index.isValid() ? newest : base::PromiseId();
    if (!index.isValid()) {
        m_tree->selectionModel()->clear();
        m_tree->viewport()->update();
        return;
    }
    for (QModelIndex above = index; above.isValid(); above = above.parent()) {
        m_tree->expand(above);
    }
    m_tree->selectionModel()->setCurrentIndex(index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
    const QRect row = m_tree->visualRect(index);
    const int margin = m_tree->viewport()->height() / 5; // the middle 60 %
    if (row.top() < margin || row.bottom() > m_tree->viewport()->height() - margin) {
        m_tree->scrollTo(index, QAbstractItemView::PositionAtCenter);
    }
    m_tree->viewport()->update();
}

void PromisesView::chooseRow(const QModelIndex& index)
{
    if (const PromiseRow* row = PromiseTreeModel::rowAt(index); row != nullptr && !row->layer) {
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
    if (row == nullptr || row->layer) {
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

base::Result<void> PromisesView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun()) {
        return base::usageError("there are no promises to write", path.string());
    }
    RETRO_TRY(const TableFormat format, tableFormatOf(path));
    return base::writeFile(path, promiseTable(model(), *model().derived<PromiseForest>(), format));
}

} // namespace retro::views

#include "moc_promisesview.cpp"
