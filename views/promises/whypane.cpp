// SPDX-License-Identifier: Apache-2.0
#include "views/promises/whypane.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

namespace retro::views
{

namespace
{

/// "◇ waits, 19 visits" in a frame.
class StateBadge final : public QWidget
{
public:
    using QWidget::QWidget;

    void setState(PromiseRowState state, const QString& text)
    {
        m_state = state;
        m_text = text;
        setAccessibleName(text);
        updateGeometry();
        update();
    }
    [[nodiscard]] QSize sizeHint() const override
    {
        return {static_cast<int>(fonts::widthOf(fonts::label(), m_text)) + fonts::px(30), fonts::px(20)};
    }
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* /*event*/) override
    {
        const Theme& colors = theme(this);
        const bool isWaiting = m_state == PromiseRowState::Waits;
        const bool isDone = m_state == PromiseRowState::Fulfilled;
        const QColor line = isWaiting ? colors[Role::SearchLine] : colors[isDone ? Role::FulfilLine : Role::Ghost];
        const QColor text = isWaiting ? colors[Role::SearchText] : colors[isDone ? Role::FulfilText : Role::Text3];
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(line, 1));
        painter.setBrush(isWaiting ? colors[Role::SearchTint] : colors[isDone ? Role::FulfilTint : Role::Base]);
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
        paintDiamond(painter, {fonts::px(11) + 0.5, height() / 2.0}, fonts::px(5), line, isDone);
        painter.setFont(fonts::label());
        painter.setPen(text);
        painter.drawText(rect().adjusted(fonts::px(21), 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, m_text);
    }

private:
    PromiseRowState m_state = PromiseRowState::NotYet;
    QString m_text;
};

QLabel* makeText(QFont::Weight weight, QWidget* parent)
{
    auto* label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setFont(fonts::label(weight));
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

void showText(QLabel& label, const QString& text)
{
    label.setText(text);
    label.setVisible(!text.isEmpty());
}

} // namespace

WhyPane::WhyPane(QWidget* parent) : QWidget(parent)
{
    setAccessibleName(tr("What it waits for"));
    auto* column = makeBox<QVBoxLayout>(this, {fonts::px(10), fonts::px(8), fonts::px(10), fonts::px(8)}, fonts::px(6));
    auto* head = new QHBoxLayout;
    m_title = new ElidedLabel({}, Role::Text, fonts::label(QFont::DemiBold), this);
    m_badge = new StateBadge(this);
    head->addWidget(m_title, 1);
    head->addWidget(m_badge);
    column->addLayout(head);
    m_known = makeText(QFont::Normal, this);
    m_missing = makeText(QFont::DemiBold, this);
    m_details = makeText(QFont::Normal, this);
    column->addWidget(m_known);
    column->addWidget(m_missing);
    column->addWidget(m_details);
    m_operands = makeText(QFont::Normal, this);
    column->addWidget(m_operands);
    m_buttons = new QBoxLayout(QBoxLayout::LeftToRight);
    m_buttons->setSpacing(fonts::px(8));
    m_opened = new QPushButton(this);
    m_opened->setToolTip(tr("Go to where the promise is opened"));
    m_fulfilled = new QPushButton(this);
    m_fulfilled->setToolTip(tr("Go to where the promise is fulfilled"));
    m_node = new QPushButton(tr("Select node"), this);
    m_node->setToolTip(tr("Select the node that opened the promise"));
    for (QPushButton* button : {m_opened, m_fulfilled, m_node}) {
        m_buttons->addWidget(button);
    }
    m_buttons->addStretch(1);
    column->addLayout(m_buttons);
    column->addStretch(1);
    connect(m_opened, &QPushButton::clicked, this, &WhyPane::openingRequested);
    connect(m_fulfilled, &QPushButton::clicked, this, &WhyPane::fulfilmentRequested);
    connect(m_node, &QPushButton::clicked, this, &WhyPane::nodeRequested);
    connect(&ThemeHub::instance(), &ThemeHub::changed, this, &WhyPane::applyColors);
    applyColors();
    clear();
}

void WhyPane::applyColors()
{
    const Theme& colors = theme(this);
    for (QLabel* label : {m_known, m_missing, m_details, m_operands}) {
        QPalette palette = label->palette();
        palette.setColor(QPalette::WindowText,
                         colors[label == m_details || label == m_operands ? Role::Text2 : Role::Text]);
        label->setPalette(palette);
    }
}

void WhyPane::setStory(const PromiseStory& story, const QString& openedVisit, const QString& fulfilledVisit)
{
    m_story = story;
    m_title->setText(story.title);
    setToolTip(story.fullName);
    m_title->show();
    static_cast<StateBadge*>(m_badge)->setState(story.state, story.badge);
    m_badge->setVisible(!story.badge.isEmpty());
    showText(*m_known, story.known.join(QLatin1Char('\n')));
    showText(*m_missing, story.missing);
    showText(*m_details, story.details.join(QLatin1Char('\n')));
    showText(*m_operands, story.operands.join(QLatin1Char('\n')));
    m_opened->setText(tr("Opened %1").arg(openedVisit));
    if (story.isNode) {
        m_fulfilled->setText(fulfilledVisit.isEmpty() ? tr("No further visit")
                                                      : tr("Next visit %1").arg(fulfilledVisit));
        m_fulfilled->setToolTip(tr("Go to the next visit of this node"));
    } else {
        m_fulfilled->setText(fulfilledVisit.isEmpty() ? tr("Never fulfilled") : tr("Fulfilled %1").arg(fulfilledVisit));
        m_fulfilled->setToolTip(tr("Go to where the promise is fulfilled"));
    }
    m_fulfilled->setEnabled(story.fulfilled.has_value());
    m_opened->setVisible(!story.isNode);
    m_node->setVisible(!story.isNode);
    m_fulfilled->show();
}

void WhyPane::clear()
{
    m_title->hide();
    m_badge->hide();
    showText(*m_known, tr("Select a promise or a node to see what it waits for."));
    showText(*m_missing, {});
    showText(*m_details, {});
    showText(*m_operands, {});
    for (QPushButton* button : {m_opened, m_fulfilled, m_node}) {
        button->hide();
    }
}

QSize WhyPane::minimumSizeHint() const { return {fonts::px(160), QWidget::minimumSizeHint().height()}; }

void WhyPane::resizeEvent(QResizeEvent* event)
{
    int wide = 2 * fonts::px(10);
    for (const QPushButton* button : {m_opened, m_fulfilled, m_node}) {
        wide += button->isHidden() ? 0 : button->sizeHint().width() + m_buttons->spacing();
    }
    m_buttons->setDirection(width() < wide ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    QWidget::resizeEvent(event);
}

void WhyPane::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    painter.fillRect(rect(), colors[Role::Base]);
}

} // namespace retro::views

#include "moc_whypane.cpp"
