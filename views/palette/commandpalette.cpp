// SPDX-License-Identifier: Apache-2.0
#include "views/palette/commandpalette.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"

#include <QApplication>
#include <QFocusEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace retro::views
{

namespace
{

/// Paints a line of the palette: drawing, text with the typed letters strong, what it is, key at the right.
class PaletteDelegate final : public QStyledItemDelegate
{
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

struct Pen
{
    QPainter& painter;
    const Theme& colors;
    bool isEnabled;

    [[nodiscard]] const QColor& text() const { return colors[isEnabled ? Role::Text : Role::Text3]; }
};

double drawText(QPainter& painter, const QRectF& box, const QString& text, const QFont& font, const QColor& color,
                Qt::Alignment alignment = Qt::AlignLeft)
{
    painter.setFont(font);
    painter.setPen(color);
    const QString shown = QFontMetricsF(font).elidedText(text, Qt::ElideMiddle, box.width());
    painter.drawText(box, static_cast<int>(alignment | Qt::AlignVCenter) | Qt::TextSingleLine, shown);
    return fonts::widthOf(font, shown);
}

/// The text in runs of typed and other letters; typed ones are bold. Returns the width.
double drawMarked(const Pen& pen, QRectF box, const PaletteItem& item)
{
    const double left = box.left();
    const auto isTyped = [&](int at) { return std::binary_search(item.places.begin(), item.places.end(), at); };
    const auto size = static_cast<int>(item.text.size());
    for (int from = 0, to = 0; from < size && box.width() > 1; from = to) {
        for (to = from + 1; to < size && isTyped(to) == isTyped(from); ++to) {
        }
        const QFont font = fonts::content(isTyped(from) ? QFont::Bold : QFont::Normal);
        const QColor& color = isTyped(from) && pen.isEnabled ? pen.colors[Role::Accent] : pen.text();
        box.setLeft(box.left() + drawText(pen.painter, box, item.text.mid(from, to - from), font, color));
    }
    return box.left() - left;
}

void PaletteDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const auto* model = qobject_cast<const PaletteModel*>(index.model());
    if (model == nullptr) {
        return;
    }
    const PaletteItem& item = model->itemAt(index.row());
    const Pen pen{*painter, theme(option.widget), item.isEnabled};
    painter->save();
    const bool isCurrent = option.state.testFlag(QStyle::State_Selected);
    painter->fillRect(option.rect, pen.colors[isCurrent ? Role::Sel : Role::Base]);
    QRectF box = QRectF(option.rect).adjusted(fonts::px(12), 0, -fonts::px(12), 0);
    const int side = fonts::px(16);
    const double ratio = painter->device()->devicePixelRatioF();
    const QColor& tint = pen.colors[item.isEnabled ? Role::Text2 : Role::Ghost];
    painter->drawPixmap(QPointF(box.left(), box.center().y() - side / 2.0),
                        icons::pixmap(item.icon, side, tint, ratio));
    box.setLeft(box.left() + side + fonts::px(10));
    const double keyWidth = item.key.isEmpty() ? 0 : fonts::widthOf(fonts::numbers(), item.key) + fonts::px(16);
    drawText(*painter, box, item.key, fonts::numbers(), pen.colors[Role::Text3], Qt::AlignRight);
    box.setRight(box.right() - keyWidth);
    box.setLeft(box.left() + drawMarked(pen, box, item) + fonts::px(12));
    if (box.width() > fonts::px(40)) {
        drawText(*painter, box, item.detail, fonts::label(), pen.colors[Role::Text3]);
    }
    painter->restore();
}

QSize PaletteDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& /*index*/) const
{
    return {option.rect.width(), fonts::px(28)};
}

constexpr int kWidth = 640;
constexpr int kMostRows = 12;
constexpr int kRowHeight = 28;

} // namespace

CommandPalette::CommandPalette(QWidget* window) : QFrame(window)
{
    setObjectName(QStringLiteral("palette"));
    setAccessibleName(tr("Command palette"));
    hide();
    auto* column = makeBox<QVBoxLayout>(this, {1, 1, 1, 1}, 0);
    m_field = new QLineEdit(this);
    m_field->setPlaceholderText(tr("Go to action, layer, step …"));
    m_field->setAccessibleName(tr("What to look for"));
    m_field->setToolTip(tr("Letters of a name, in their order; a sign asks for one kind"));
    m_field->setFixedHeight(fonts::px(34));
    m_field->setFrame(false);
    m_list = new QListView(this);
    m_list->setModel(&m_model);
    m_list->setItemDelegate(new PaletteDelegate(m_list));
    m_list->setUniformItemSizes(true);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setFocusPolicy(Qt::NoFocus);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->setMouseTracking(true);
    m_list->setAccessibleName(tr("What was found"));
    m_nothing = new ElidedLabel(tr("Nothing is called that."), Role::Text2, fonts::content(), this);
    m_nothing->setAlignment(Qt::AlignCenter);
    m_nothing->setFixedHeight(fonts::px(2 * kRowHeight));
    m_foot = new ElidedLabel({}, Role::Text3, fonts::label(), this);
    m_foot->setFixedHeight(fonts::px(24));
    m_foot->setContentsMargins(fonts::px(12), 0, fonts::px(12), 0);
    auto* top = new QHBoxLayout;
    top->setContentsMargins(fonts::px(7), 0, fonts::px(7), 0);
    top->addWidget(m_field);
    column->addLayout(top);
    for (QWidget* part :
         {static_cast<QWidget*>(m_list), static_cast<QWidget*>(m_nothing), static_cast<QWidget*>(m_foot)}) {
        column->addWidget(part);
    }
    m_field->installEventFilter(this);
    window->installEventFilter(this);
    connect(m_field, &QLineEdit::textChanged, this, &CommandPalette::search);
    connect(m_list, &QListView::clicked, this, [this] { choose(false); });
    connect(m_list, &QListView::entered, m_list, &QListView::setCurrentIndex);
}

void CommandPalette::addSource(std::unique_ptr<PaletteSource> source)
{
    m_model.addSource(std::move(source));
    makeFoot();
}

void CommandPalette::makeFoot()
{
    QStringList parts;
    for (const auto& source : m_model.sources()) {
        if (!source->sign().isNull()) {
            parts << source->sign() + QStringLiteral(" ") + source->name();
        }
    }
    parts << tr("Return: choose") << tr("Ctrl+Return: also go there in time") << tr("Esc: close");
    m_foot->setText(parts.join(QStringLiteral("   ")));
}

void CommandPalette::open(const QString& text, const QRect& anchor)
{
    if (isHidden()) {
        m_focusBefore = QApplication::focusWidget();
    }
    m_anchor = anchor;
    m_field->setText(text);
    search();
    show();
    raise();
    m_field->setFocus(Qt::ShortcutFocusReason);
    m_field->setCursorPosition(static_cast<int>(text.size()));
}

void CommandPalette::dismiss()
{
    if (isHidden()) {
        return;
    }
    const bool hadFocus = m_field->hasFocus();
    hide();
    if (hadFocus && m_focusBefore != nullptr) {
        m_focusBefore->setFocus(Qt::OtherFocusReason);
    }
}

void CommandPalette::search()
{
    m_model.setText(m_field->text());
    const bool hasItems = m_model.rowCount() > 0;
    m_list->setVisible(hasItems);
    m_nothing->setVisible(!hasItems);
    if (hasItems) {
        m_list->setCurrentIndex(m_model.index(0));
    }
    place();
}

void CommandPalette::place()
{
    const QWidget* window = parentWidget();
    const int gap = fonts::px(8);
    const int wide = std::min(fonts::px(kWidth), window->width() - 2 * gap);
    const int free = (window->height() - 4 * gap) / fonts::px(kRowHeight) - 3;
    const int rows = std::min({m_model.rowCount(), kMostRows, std::max(1, free)});
    m_list->setFixedHeight(rows * fonts::px(kRowHeight));
    setFixedWidth(wide);
    layout()->activate();
    resize(wide, sizeHint().height());
    const int centred = (window->width() - wide) / 2;
    const int left = m_anchor.isValid() ? m_anchor.right() + 1 - wide : centred;
    move(std::clamp(left, gap, window->width() - wide - gap), m_anchor.isValid() ? m_anchor.top() : gap);
}

void CommandPalette::moveBy(int rows)
{
    const int count = m_model.rowCount();
    if (count > 0) {
        const int row = std::clamp(m_list->currentIndex().row() + rows, 0, count - 1);
        m_list->setCurrentIndex(m_model.index(row));
    }
}

void CommandPalette::choose(bool isFar)
{
    const QModelIndex index = m_list->currentIndex();
    if (!index.isValid() || !m_model.itemAt(index.row()).isEnabled) {
        return;
    }
    // The list is made anew when the palette opens again, perhaps by this very action.
    const auto run = m_model.itemAt(index.row()).run;
    dismiss();
    run(isFar);
}

bool CommandPalette::takeKey(int key, Qt::KeyboardModifiers modifiers)
{
    switch (key) {
    case Qt::Key_Escape:
        dismiss();
        return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        choose(modifiers.testFlag(Qt::ControlModifier));
        return true;
    case Qt::Key_Up:
        moveBy(-1);
        return true;
    case Qt::Key_Down:
        moveBy(1);
        return true;
    case Qt::Key_PageUp:
        moveBy(-kMostRows);
        return true;
    case Qt::Key_PageDown:
        moveBy(kMostRows);
        return true;
    default:
        return false;
    }
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == parentWidget()) {
        if (event->type() == QEvent::Resize && isVisible()) {
            place();
        }
        return QFrame::eventFilter(watched, event);
    }
    if (event->type() == QEvent::ShortcutOverride) {
        event->accept(); // while it is open every key is the palette's, Escape too
        return true;
    }
    if (event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        return takeKey(key->key(), key->modifiers());
    }
    if (event->type() == QEvent::FocusOut) {
        const auto reason = static_cast<QFocusEvent*>(event)->reason();
        if (reason != Qt::PopupFocusReason && reason != Qt::ActiveWindowFocusReason) {
            dismiss();
        }
    }
    return QFrame::eventFilter(watched, event);
}

void CommandPalette::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    painter.fillRect(rect(), colors[Role::Base]);
    painter.setPen(QPen(colors[Role::Strong], 1));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
    painter.setPen(QPen(colors[Role::Line], 1));
    painter.drawLine(1, m_field->geometry().bottom(), width() - 2, m_field->geometry().bottom());
    painter.drawLine(1, m_foot->geometry().top(), width() - 2, m_foot->geometry().top());
}

} // namespace retro::views

#include "moc_commandpalette.cpp"
