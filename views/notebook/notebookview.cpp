// SPDX-License-Identifier: Apache-2.0
#include "views/notebook/notebookview.h"

#include "core/base/file.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/marks.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/listtable.h"
#include "views/notebook/notebooktext.h"

#include <QAction>
#include <QApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QPersistentModelIndex>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include <cmath>

namespace retro::views
{

namespace
{

/// Draws the rows of the notebook: a pin before the step of pinned rows, the mode as its mark, the present place on the
/// selection colour with an accent line at its left. Edits comments in one line.
class NotebookDelegate final : public QStyledItemDelegate
{
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    [[nodiscard]] QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                                        const QModelIndex& index) const override;
};

void paintGround(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const bool isHere = index.data(NotebookModel::IsHereRole).toBool();
    const bool isSelected = option.state.testFlag(QStyle::State_Selected);
    const Role ground = isSelected ? Role::Sel : (index.row() % 2 == 1 ? Role::Alt : Role::Base);
    painter.fillRect(option.rect, colors[ground]);
    if (isHere && index.column() == 0) {
        painter.fillRect(QRect(option.rect.left(), option.rect.top(), fonts::px(3), option.rect.height()),
                         colors[Role::Accent]);
    }
}

void paintPin(QPainter& painter, const QStyleOptionViewItem& option, const Theme& colors)
{
    const int side = fonts::px(14);
    const double ratio = option.widget != nullptr ? option.widget->devicePixelRatioF() : 1;
    painter.drawPixmap(option.rect.left() + fonts::px(6), option.rect.center().y() - side / 2 + 1,
                       icons::pixmap(QStringLiteral("pin"), side, colors[Role::Accent], ratio));
}

void paintMode(QPainter& painter, const QStyleOptionViewItem& option, event::Mode mode, const Theme& colors)
{
    if (mode != event::Mode::None) {
        const double side = fonts::px(15);
        const double top = std::round(option.rect.center().y() - side / 2 + 1);
        paintModeMark(painter, QRectF(option.rect.left() + fonts::px(6), top, side, side), mode, colors);
    }
}

void paintText(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const int column = index.column();
    const bool isFigure = column == NotebookModel::StepColumn || column == NotebookModel::SumColumn;
    const QFont font = isFigure ? fonts::smallNumbers() : fonts::label();
    const QRectF box = QRectF(option.rect).adjusted(fonts::px(6), 0, -fonts::px(6), 0);
    painter.setFont(font);
    painter.setPen(colors[index.data(NotebookModel::IsQuietRole).toBool() ? Role::Text2 : Role::Text]);
    const auto elide = column == NotebookModel::CommentColumn ? Qt::ElideRight : Qt::ElideMiddle;
    painter.drawText(box, index.data(Qt::TextAlignmentRole).toInt() | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(index.data().toString(), elide, std::ceil(box.width())));
}

void NotebookDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const Theme& colors = theme(option.widget);
    painter->save();
    painter->setClipRect(option.rect);
    paintGround(*painter, option, index, colors);
    if (index.column() == NotebookModel::StepColumn && index.data(NotebookModel::IsPinnedRole).toBool()) {
        paintPin(*painter, option, colors);
    }
    if (index.column() == NotebookModel::ModeColumn) {
        paintMode(*painter, option, static_cast<event::Mode>(index.data(NotebookModel::ModeRole).toInt()), colors);
    } else {
        paintText(*painter, option, index, colors);
    }
    painter->restore();
}

QWidget* NotebookDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem& /*option*/,
                                        const QModelIndex& /*index*/) const
{
    auto* line = new QLineEdit(parent);
    line->setFrame(false);
    line->setFont(fonts::label());
    line->setMaxLength(NotebookModel::kMostCharacters);
    line->setPlaceholderText(NotebookView::tr("What is to be seen here"));
    line->setAccessibleName(NotebookView::tr("Comment of the pinned place"));
    return line;
}

} // namespace

NotebookView::NotebookView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent), m_items(new NotebookModel(model, this))
{
    setAccessibleName(tr("Notebook"));
    setEmptyText(tr("The places that you visit in a run, and what you note about them. Open a model first."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, 0);
    column->addWidget(makeTools());
    makeTable(body);
    column->addWidget(m_table, 1);
    setBody(body);
    const auto tell = [this] {
        say({});
        updateTools();
        emit captionChanged();
    };
    for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved}) {
        connect(m_items, signal, this, tell);
    }
    connect(m_items, &NotebookModel::modelReset, this, tell);
    connect(m_items, &NotebookModel::notesChanged, this, tell);
    connect(m_items, &NotebookModel::refused, this, &NotebookView::say);
    say({});
    updateTools();
}

QWidget* NotebookView::makeTools()
{
    auto* box = new QWidget(this);
    auto* row = makeBox<QHBoxLayout>(box, {fonts::px(8), fonts::px(4), fonts::px(8), fonts::px(4)}, fonts::px(4));
    const auto give = [&](const QString& text, const QString& name, const QString& tip, auto&& what) {
        auto* button = new QToolButton(box);
        button->setText(text);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        button->setAccessibleName(name);
        button->setToolTip(tip);
        connect(button, &QToolButton::clicked, this, what);
        row->addWidget(button);
        return button;
    };
    m_go = give(tr("Go to"), tr("Go to the chosen place"), tr("Go to the step and selection of the chosen row (Enter)"),
                [this] { goTo(chosenRow()); });
    m_pin =
        give(tr("Pin here"), tr("Pin the present place"),
             tr("Keep the present step and selection with a comment, also in the saved run"), [this] { pinHere(); });
    m_message = new ElidedLabel({}, Role::Text2, fonts::label(), box);
    m_message->setContentsMargins(fonts::px(6), 0, fonts::px(6), 0);
    row->addWidget(m_message, 1);
    m_clear = give(tr("Clear trail"), tr("Clear the trail"), tr("Forget the visited places; pinned ones stay"),
                   [this] { m_items->clearTrail(); });
    return box;
}

void NotebookView::makeTable(QWidget* parent)
{
    m_table = new QTableView(parent);
    m_table->setAccessibleName(tr("Visited and pinned places"));
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers); // a double click goes to the place
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setContextMenuPolicy(Qt::CustomContextMenu);
    makeList(*m_table, *m_items, fonts::px(24));
    m_table->setItemDelegate(new NotebookDelegate(m_table));
    for (const int column : {NotebookModel::PlaceColumn, NotebookModel::CommentColumn}) {
        m_table->horizontalHeader()->setSectionResizeMode(column, QHeaderView::Stretch); // they share the room
    }
    sizeColumns();
    addItemAction(*m_table, tr("Pin with a comment"), Qt::Key_Insert, [this] { comment(chosenRow()); });
    addItemAction(*m_table, tr("Remove"), QKeySequence::Delete, [this] { m_items->remove(chosenRow()); });
    connect(m_table, &QTableView::activated, this, [this](const QModelIndex& index) { goTo(index.row()); });
    connect(m_table, &QTableView::clicked, this, &NotebookView::chooseRow);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &NotebookView::updateTools);
    connect(m_table, &QTableView::customContextMenuRequested, this, &NotebookView::showMenu);
}

/// Columns of figures and marks: as wide as the text at its present size asks for.
void NotebookView::sizeColumns()
{
    const auto width = [](const QFont& font, const char* text) {
        return static_cast<int>(fonts::widthOf(font, QString::fromUtf8(text))) + fonts::px(14);
    };
    QHeaderView* header = m_table->horizontalHeader();
    header->setMinimumSectionSize(fonts::px(30));
    header->resizeSection(NotebookModel::StepColumn, width(fonts::smallNumbers(), "10,000") + fonts::px(18));
    header->resizeSection(NotebookModel::ModeColumn, width(fonts::label(), "Mode"));
    header->resizeSection(NotebookModel::SumColumn, width(fonts::smallNumbers(), "−1.2345e−4"));
}

QString NotebookView::subject() const
{
    const int pinned = m_items->pinnedCount();
    const int visited = m_items->rowCount() - pinned;
    if (visited + pinned == 0) {
        return {};
    }
    const QString places = visited == 1 ? tr("1 place") : tr("%1 places").arg(countText(visited));
    if (pinned == 0) {
        return places;
    }
    return visited == 0 ? tr("%1 pinned").arg(countText(pinned)) : tr("%1 pinned, %2").arg(countText(pinned), places);
}

bool NotebookView::canShow(const SelectedThing& thing) const
{
    return model().hasRun() && m_items->rowOf({cursor().position(), thing}) >= 0;
}

void NotebookView::refresh(Changes changes)
{
    if (changes & (Change::Run | Change::State | Change::Selection)) {
        m_items->setHere(here());
    }
    if (changes.testFlag(Change::Theme)) {
        sizeColumns(); // the text may have another size
        m_table->viewport()->update();
    }
    updateTools();
}

void NotebookView::updateTools()
{
    if (m_table == nullptr) {
        return;
    }
    m_go->setEnabled(chosenRow() >= 0);
    m_pin->setEnabled(model().hasRun() && model().run().eventCount() > 0);
    m_clear->setEnabled(m_items->rowCount() > m_items->pinnedCount());
}

void NotebookView::say(const QString& what)
{
    const bool isNew = what.isEmpty() && m_items->rowCount() == 0;
    m_message->setRole(what.isEmpty() ? Role::Text2 : Role::AlarmText);
    m_message->setText(isNew ? tr("Step or select something: places come here by themselves.") : what);
}

QString NotebookView::message() const { return m_message->text(); }

int NotebookView::chosenRow() const
{
    const QModelIndex index = m_table->currentIndex();
    return index.isValid() ? index.row() : -1;
}

void NotebookView::chooseRow(const QModelIndex& index)
{
    if (index.isValid()) {
        const Place place = m_items->entryAt(index.row()).place;
        m_items->setLast({cursor().position(), place.thing}); // leafing through the notebook is no visit
        selection().set(place.thing);
    }
}

void NotebookView::goTo(int row)
{
    if (row < 0 || row >= m_items->rowCount()) {
        return;
    }
    const Place place = m_items->entryAt(row).place; // a copy: rows may change under it
    m_items->setLast(place);
    selection().set(place.thing);
    cursor().moveTo(place.position);
}

void NotebookView::pinHere()
{
    const int row = model().hasRun() ? m_items->pin(here()) : -1;
    comment(row);
}

void NotebookView::comment(int row)
{
    const int pinned = row < 0 ? -1 : m_items->pin(row);
    if (pinned < 0) {
        return;
    }
    const QModelIndex index = m_items->index(pinned, NotebookModel::CommentColumn);
    m_table->setCurrentIndex(index);
    m_table->scrollTo(index);
    m_table->setFocus();
    m_table->edit(index);
    // A pane that comes into sight in this turn takes the keys from its field again once it has its place.
    QTimer::singleShot(0, m_table, [table = m_table, place = QPersistentModelIndex(index)] {
        const QWidget* keys = QApplication::focusWidget();
        if (place.isValid() && table->isVisible() && (keys == nullptr || !table->viewport()->isAncestorOf(keys))) {
            table->setFocus();
            table->edit(place);
        }
    });
}

void NotebookView::togglePin(int row)
{
    if (m_items->isPinned(row)) {
        m_items->unpin(row);
    } else {
        comment(row);
    }
}

void NotebookView::showMenu(const QPoint& at)
{
    const QModelIndex index = m_table->indexAt(at);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (index.isValid()) {
        m_table->setCurrentIndex(index);
        const bool isPinned = m_items->isPinned(index.row());
        menu->addAction(tr("Go to"), this, [this] { goTo(chosenRow()); });
        menu->addAction(isPinned ? tr("Change the comment") : tr("Pin with a comment"), this,
                        [this] { comment(chosenRow()); });
        if (isPinned) {
            menu->addAction(tr("Unpin"), this, [this] { togglePin(chosenRow()); });
        }
        menu->addAction(tr("Remove"), this, [this] { m_items->remove(chosenRow()); });
        menu->addSeparator();
    }
    menu->addAction(tr("Clear the trail"), m_items, &NotebookModel::clearTrail)->setEnabled(m_clear->isEnabled());
    menu->popup(m_table->viewport()->mapToGlobal(at));
}

base::Result<void> NotebookView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun() || m_items->rowCount() == 0) {
        return base::usageError("the notebook is empty; visit a step or pin a place first", path.string());
    }
    return base::writeFile(path, notebookMarkdown(model(), *m_items));
}

} // namespace retro::views

#include "moc_notebookview.cpp"
