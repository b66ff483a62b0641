// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphtools.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/widgets/boxes.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

/// Design pixels that name and subject of the dock keep beside the tools, over the least that they could do with.
constexpr double kForWords = 60;

QToolButton* addButton(QHBoxLayout& row, const QString& icon, const QString& tip, QWidget* parent)
{
    auto* button = new QToolButton(parent);
    button->setAutoRaise(true);
    button->setIcon(icons::icon(icon));
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    button->setFocusPolicy(Qt::TabFocus);
    row.addWidget(button);
    return button;
}

} // namespace

GraphTools::GraphTools(QWidget* parent) : QWidget(parent)
{
    auto* row = makeBox<QHBoxLayout>(this, {}, 0);
    addColourBy(*row);
    auto* find = addButton(*row, QStringLiteral("search"), tr("Find nodes by name, operator or scope (Ctrl+F)"), this);
    auto* out = addButton(*row, QStringLiteral("zoomout"), tr("Show the graph smaller (−)"), this);
    m_percentage = new QLabel(this);
    m_percentage->setFont(fonts::numbers());
    m_percentage->setAlignment(Qt::AlignCenter);
    m_percentage->setMinimumWidth(
        static_cast<int>(std::ceil(fonts::widthOf(fonts::numbers(), QStringLiteral("0000 %")))));
    m_percentage->setAccessibleName(tr("Scale of the graph"));
    m_droppable[2] = m_percentage;
    row->addWidget(m_percentage);
    auto* in = addButton(*row, QStringLiteral("zoomin"), tr("Show the graph larger (+)"), this);
    auto* fit = addButton(*row, QStringLiteral("zoomfit"), tr("Show the whole graph (0)"), this);
    connect(find, &QToolButton::clicked, this, &GraphTools::findWanted);
    connect(out, &QToolButton::clicked, this, &GraphTools::zoomOutWanted);
    connect(in, &QToolButton::clicked, this, &GraphTools::zoomInWanted);
    connect(fit, &QToolButton::clicked, this, &GraphTools::fitWanted);
    setZoom(1);
}

void GraphTools::addColourBy(QHBoxLayout& row)
{
    auto* label = new QLabel(tr("Colour by"), this);
    label->setFont(fonts::label());
    label->setForegroundRole(QPalette::PlaceholderText);
    m_colourBy = new QComboBox(this);
    m_colourBy->setAccessibleName(tr("What the boxes are coloured by"));
    m_colourBy->setToolTip(tr("What the colours of the boxes mean: mode of the last visit, rule, relevance lost, "
                              "operator type, or what verifying found"));
    m_colourBy->setFont(fonts::label());
    for (const ColourBy by : kColourings) {
        m_colourBy->addItem(wordOf(by));
    }
    label->setBuddy(m_colourBy);
    connect(m_colourBy, &QComboBox::activated, this,
            [this](int at) { emit colourByWanted(kColourings[static_cast<std::size_t>(at)]); });
    label->setContentsMargins(0, 0, fonts::px(6), 0);
    auto* box = new QWidget(this);
    auto* inner = new QHBoxLayout(box);
    inner->setContentsMargins(0, 0, fonts::px(8), 0);
    inner->addWidget(m_colourBy);
    row.addWidget(label);
    row.addWidget(box);
    m_droppable[0] = label;
    m_droppable[1] = box;
}

/// Only a graph in motion gets them.
void GraphTools::addMotionTools()
{
    m_motionTools = new QWidget(this);
    auto* inner = makeBox<QHBoxLayout>(m_motionTools, {0, 0, fonts::px(8), 0}, 0);
    const auto add = [&](const QString& text, const QString& tip) {
        auto* button = new QToolButton(m_motionTools);
        button->setText(text);
        button->setToolTip(tip);
        button->setAccessibleName(tip);
        button->setCheckable(true);
        button->setProperty("segment", true);
        button->setFocusPolicy(Qt::TabFocus);
        inner->addWidget(button);
        return button;
    };
    m_sideways = add(QStringLiteral("→"), tr("Inputs left, relevance runs to the left"));
    m_down = add(QStringLiteral("↓"), tr("Inputs on top, relevance runs upwards"));
    inner->addSpacing(fonts::px(6));
    m_follow = add(tr("follow"), tr("The picture follows the moment; moving it by hand ends that (Ctrl+L)"));
    connect(m_sideways, &QToolButton::clicked, this, [this] { emit runWanted(true); });
    connect(m_down, &QToolButton::clicked, this, [this] { emit runWanted(false); });
    connect(m_follow, &QToolButton::clicked, this, &GraphTools::followWanted);
    static_cast<QHBoxLayout*>(layout())->insertWidget(0, m_motionTools);
}

void GraphTools::setInMotion(bool isInMotion)
{
    if (isInMotion && m_motionTools == nullptr) {
        addMotionTools();
    }
    if (m_motionTools != nullptr) {
        m_motionTools->setVisible(isInMotion);
        updateGeometry();
    }
}

void GraphTools::setRunning(bool isSideways)
{
    if (m_motionTools != nullptr) {
        m_sideways->setChecked(isSideways);
        m_down->setChecked(!isSideways);
    }
}

void GraphTools::setFollowing(bool isFollowing)
{
    if (m_motionTools != nullptr) {
        m_follow->setChecked(isFollowing);
    }
}

int GraphTools::widthWithout(std::size_t dropped) const
{
    const auto gone = m_droppable.begin() + static_cast<std::ptrdiff_t>(dropped);
    int width = 0;
    for (int i = 0; i < layout()->count(); ++i) {
        const QWidget* part = layout()->itemAt(i)->widget();
        if (part != nullptr && (part != m_motionTools || !m_motionTools->isHidden()) &&
            std::find(m_droppable.begin(), gone, part) == gone) {
            width += part->sizeHint().expandedTo(part->minimumSize()).width();
        }
    }
    return width;
}

QSize GraphTools::sizeHint() const { return {widthWithout(m_dropped), layout()->sizeHint().height()}; }

QSize GraphTools::minimumSizeHint() const
{
    return {widthWithout(m_droppable.size()), layout()->minimumSize().height()};
}

bool GraphTools::event(QEvent* event)
{
    if (event->type() == QEvent::ParentAboutToChange && parentWidget() != nullptr) {
        parentWidget()->removeEventFilter(this);
    }
    if (event->type() == QEvent::ParentChange && parentWidget() != nullptr) {
        parentWidget()->installEventFilter(this);
    }
    return QWidget::event(event);
}

bool GraphTools::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Resize || event->type() == QEvent::LayoutRequest) {
        fitIntoRow();
    }
    return QWidget::eventFilter(watched, event);
}

void GraphTools::fitIntoRow()
{
    const QLayout* row = parentWidget()->layout();
    if (row == nullptr) {
        return;
    }
    const int others = row->minimumSize().width() - minimumSizeHint().width() + fonts::px(kForWords);
    std::size_t dropped = 0;
    while (dropped < m_droppable.size() && widthWithout(dropped) > parentWidget()->width() - others) {
        ++dropped;
    }
    if (dropped == m_dropped) {
        return;
    }
    m_dropped = dropped;
    for (std::size_t i = 0; i < m_droppable.size(); ++i) {
        m_droppable[i]->setVisible(i >= dropped);
    }
    updateGeometry();
}

void GraphTools::setColourBy(ColourBy by) { m_colourBy->setCurrentIndex(static_cast<int>(by)); }

void GraphTools::setZoom(double zoom)
{
    const double percent = zoom * 100;
    m_percentage->setText(percent >= 1 ? tr("%1 %").arg(std::lround(percent)) : tr("< 1 %"));
}

} // namespace retro::views

#include "moc_graphtools.cpp"
