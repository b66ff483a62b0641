// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/menucorner.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"

#include <QAction>
#include <QHBoxLayout>
#include <QMenuBar>
#include <QPainter>
#include <QResizeEvent>
#include <QToolButton>

#include <algorithm>

namespace retro::app
{

namespace
{

using views::Role;
using views::fonts::px;

constexpr int kWidest = 300;
constexpr int kNarrowest = 132;
constexpr int kMenuPadding = 20; // of a title in the bar, both sides together

int menusWidth(const QMenuBar& bar)
{
    int width = 0;
    for (const QAction* action : bar.actions()) {
        width += static_cast<int>(views::fonts::widthOf(bar.font(), action->text())) + px(kMenuPadding);
    }
    return width;
}

} // namespace

CommandField::CommandField(const QAction& action, QWidget* parent) : QAbstractButton(parent), m_action(action)
{
    setText(tr("Go to action, layer, step…"));
    setAccessibleName(tr("Command palette"));
    setToolTip(action.toolTip());
    setFocusPolicy(Qt::TabFocus);
    setCursor(Qt::IBeamCursor);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize CommandField::sizeHint() const { return {px(kWidest), px(26)}; }

void CommandField::paintEvent(QPaintEvent* /*event*/)
{
    const views::Theme& colors = views::theme(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool isMarked = underMouse() || hasFocus();
    painter.setPen(QPen(colors[hasFocus() ? Role::Accent : isMarked ? Role::Strong : Role::ButtonLine], 1));
    painter.setBrush(colors[Role::Base]);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    const int side = px(14);
    QRectF box = QRectF(rect()).adjusted(px(8), 0, -px(8), 0);
    painter.drawPixmap(QPointF(box.left(), box.center().y() - side / 2.0),
                       views::icons::pixmap(QStringLiteral("search"), side, colors[Role::Text3], devicePixelRatioF()));
    const QString key = m_action.shortcut().toString(QKeySequence::NativeText);
    const double keyWidth = views::fonts::widthOf(views::fonts::smallNumbers(), key);
    box.setLeft(box.left() + side + px(8));
    painter.setPen(colors[Role::Text3]);
    const double textWidth = views::fonts::widthOf(views::fonts::content(), text());
    if (textWidth + px(12) + keyWidth <= box.width()) {
        painter.setFont(views::fonts::smallNumbers());
        painter.drawText(box, Qt::AlignRight | Qt::AlignVCenter, key);
    }
    painter.setFont(views::fonts::content());
    painter.drawText(box, static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter) | Qt::TextSingleLine,
                     painter.fontMetrics().elidedText(text(), Qt::ElideRight, static_cast<int>(box.width())));
}

MenuCorner::MenuCorner(QMenuBar& bar, const QAction& palette, const QList<QAction*>& workspaces)
    : QWidget(&bar), m_bar(bar)
{
    auto* row = views::makeBox<QHBoxLayout>(this, {0, px(3), px(8), px(3)}, 0);
    m_field = new CommandField(palette, this);
    row->addWidget(m_field);
    row->addSpacing(px(12));
    for (QAction* action : workspaces) {
        auto* button = new QToolButton(this);
        button->setDefaultAction(action);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        button->setProperty("segment", true);
        button->setProperty("filled", true);
        button->setMinimumWidth(px(72));
        row->addWidget(button);
        m_segments.append(button);
    }
    bar.setCornerWidget(this, Qt::TopRightCorner);
    bar.installEventFilter(this);
    fit(bar.width());
    connect(&views::ThemeHub::instance(), &views::ThemeHub::changed, this, [this] { fit(m_bar.width()); });
}

void MenuCorner::fit(int barWidth)
{
    int segments = px(20);
    for (const QToolButton* button : m_segments) {
        segments += button->sizeHint().width();
    }
    const int room = barWidth - menusWidth(m_bar) - segments - px(16);
    m_field->setVisible(room >= px(kNarrowest));
    m_field->setFixedWidth(std::clamp(room, px(kNarrowest), px(kWidest)));
    layout()->activate();
}

bool MenuCorner::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == &m_bar && event->type() == QEvent::Resize) {
        fit(static_cast<QResizeEvent*>(event)->size().width());
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace retro::app

#include "moc_menucorner.cpp"
