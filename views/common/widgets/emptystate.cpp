// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/emptystate.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>
#include <QTimer>
#include <QVBoxLayout>

#include <cmath>

namespace retro::views
{

namespace
{

constexpr int kCancelDelay = 300;
constexpr int kBarSteps = 1000;
// Design pixels: a bar that shrinks with its view, so that loading makes no view wider than its content does.
constexpr double kProgressWidth = 220;
constexpr double kLeastProgressWidth = 60;

QLabel* makeLine(QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setAlignment(Qt::AlignCenter);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

void tint(QLabel& label, const QColor& color)
{
    QPalette palette = label.palette();
    palette.setColor(QPalette::WindowText, color);
    label.setPalette(palette);
}

} // namespace

EmptyState::EmptyState(QWidget* parent) : QWidget(parent)
{
    auto* column =
        makeBox<QVBoxLayout>(this, {fonts::px(24), fonts::px(12), fonts::px(24), fonts::px(12)}, fonts::px(8));
    column->addStretch(2);
    m_first = makeLine(this);
    m_second = makeLine(this);
    m_second->setFont(fonts::label());
    m_bar = new QProgressBar(this);
    m_bar->setTextVisible(false);
    m_bar->setFixedHeight(fonts::px(9));
    m_bar->setMinimumWidth(fonts::px(kLeastProgressWidth));
    m_bar->setMaximumWidth(fonts::px(kProgressWidth));
    m_button = new QPushButton(this);
    column->addWidget(m_first);
    column->addWidget(m_second);
    auto* barRow = new QHBoxLayout;
    barRow->addStretch(1);
    barRow->addWidget(m_bar, 100);
    barRow->addStretch(1);
    column->addLayout(barRow);
    column->addWidget(m_button, 0, Qt::AlignHCenter);
    column->addStretch(3);
    m_cancelDelay = new QTimer(this);
    m_cancelDelay->setSingleShot(true);
    m_cancelDelay->setInterval(kCancelDelay);
    connect(m_cancelDelay, &QTimer::timeout, m_button, &QWidget::show);
    connect(m_button, &QPushButton::clicked, this, [this] {
        if (m_kind == Kind::Loading) {
            emit cancelled();
        } else {
            emit activated();
        }
    });
    connect(&ThemeHub::instance(), &ThemeHub::changed, this, &EmptyState::applyColors);
    showEmpty({});
}

void EmptyState::applyColors()
{
    const Theme& colors = theme(this);
    tint(*m_first, m_kind == Kind::Error ? colors[Role::Text] : colors[Role::Text2]);
    tint(*m_second, colors[Role::Text2]);
}

void EmptyState::setKind(Kind kind)
{
    m_kind = kind;
    // Without a button the sentence is what the keyboard, and who reads the screen aloud, comes to.
    setFocusPolicy(m_button->text().isEmpty() || kind == Kind::Error ? Qt::TabFocus : Qt::NoFocus);
    m_first->setFont(kind == Kind::Error ? fonts::content(QFont::DemiBold) : fonts::content());
    m_second->setVisible(kind == Kind::Error);
    m_bar->setVisible(kind == Kind::Loading);
    setAccessibleName(m_first->text());
    applyColors();
    update();
}

void EmptyState::showEmpty(const QString& sentence, const QString& button)
{
    m_first->setText(sentence);
    m_button->setText(button);
    m_button->setVisible(!button.isEmpty());
    m_cancelDelay->stop();
    setKind(Kind::Empty);
}

void EmptyState::showLoading(const QString& stage, double fraction)
{
    m_first->setText(stage);
    m_bar->setRange(0, fraction < 0 ? 0 : kBarSteps);
    m_bar->setValue(static_cast<int>(std::lround(fraction * kBarSteps)));
    if (m_kind != Kind::Loading) {
        m_button->setText(tr("Cancel"));
        m_button->hide();
        m_cancelDelay->start();
    }
    setKind(Kind::Loading);
}

void EmptyState::showError(const QString& what, const QString& remedy)
{
    m_first->setText(what);
    m_second->setText(remedy);
    m_button->hide();
    m_cancelDelay->stop();
    setKind(Kind::Error);
}

void EmptyState::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    if (hasFocus()) {
        painter.setPen(colors[Role::Text2]);
        painter.drawRect(rect().adjusted(1, 1, -2, -2));
    }
    painter.fillRect(rect(), colors[Role::Base]);
    if (m_kind == Kind::Error) {
        paintCross(painter, QPointF(rect().center().x(), m_first->y() - fonts::px(14)), fonts::px(6),
                   colors[Role::AlarmLine]);
    }
}

} // namespace retro::views

#include "moc_emptystate.cpp"
