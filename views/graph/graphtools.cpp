// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphtools.h"

#include "views/common/fonts.h"
#include "views/common/icons.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include <cmath>

namespace retro::views
{

namespace
{

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
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    auto* find = addButton(*row, QStringLiteral("search"), tr("Find a node by name (Ctrl+F)"), this);
    auto* out = addButton(*row, QStringLiteral("zoomout"), tr("Show the graph smaller (−)"), this);
    m_percentage = new QLabel(this);
    m_percentage->setFont(fonts::numbers());
    m_percentage->setAlignment(Qt::AlignCenter);
    m_percentage->setMinimumWidth(
        static_cast<int>(std::ceil(fonts::widthOf(fonts::numbers(), QStringLiteral("0000 %")))));
    m_percentage->setAccessibleName(tr("Scale of the graph"));
    row->addWidget(m_percentage);
    auto* in = addButton(*row, QStringLiteral("zoomin"), tr("Show the graph larger (+)"), this);
    auto* fit = addButton(*row, QStringLiteral("zoomfit"), tr("Show the whole graph (0)"), this);
    connect(find, &QToolButton::clicked, this, &GraphTools::findWanted);
    connect(out, &QToolButton::clicked, this, &GraphTools::zoomOutWanted);
    connect(in, &QToolButton::clicked, this, &GraphTools::zoomInWanted);
    connect(fit, &QToolButton::clicked, this, &GraphTools::fitWanted);
    setZoom(1);
}

void GraphTools::setZoom(double zoom)
{
    const double percent = zoom * 100;
    m_percentage->setText(percent >= 1 ? tr("%1 %").arg(std::lround(percent)) : tr("< 1 %"));
}

} // namespace retro::views
