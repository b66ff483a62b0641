// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/kernelsworkspace.h"

#include "views/common/paint/fonts.h"
#include "views/lut/dataflowview.h"
#include "views/lut/detectorsview.h"
#include "views/lut/lutchoice.h"
#include "views/lut/pairmapview.h"
#include "views/lut/streamsview.h"

#include <algorithm>

namespace retro::app
{

using views::fonts::px;

namespace
{

constexpr double kLeastKernelsSide = 380;
constexpr double kLeastStreams = 150;

} // namespace

KernelsWorkspace::KernelsWorkspace(const WorkspaceContext& context, QWidget* parent)
    : Workspace(QStringLiteral("kernels"), parent),
      m_choice(new views::LutChoice(context.model, context.selection, this))
{
    m_flow = new views::DataFlowView(context.model, context.cursor, context.selection, *m_choice, this);
    m_flowDock = addView(m_flow);
    m_tableDock = addView(new views::DetectorsView(context.model, context.cursor, context.selection, *m_choice, this));
    m_streamsDock = addView(new views::StreamsView(context.model, context.cursor, context.selection, *m_choice, this));
    m_mapDock = addView(new views::PairMapView(context.model, context.cursor, context.selection, *m_choice, this));
    splitDockWidget(m_flowDock, m_tableDock, Qt::Horizontal);
    splitDockWidget(m_flowDock, m_streamsDock, Qt::Vertical);
    splitDockWidget(m_tableDock, m_mapDock, Qt::Vertical);
    rememberLayout();
}

std::vector<Workspace::Pack> KernelsWorkspace::packs() const
{
    return {{m_mapDock, m_tableDock, Qt::Vertical},
            {m_streamsDock, m_flowDock, Qt::Vertical},
            {m_tableDock, m_flowDock, Qt::Horizontal}};
}

void KernelsWorkspace::applySizes()
{
    const QRect room = contentsRect();
    const double side =
        std::max(std::min<double>(px(kLeastKernelsSide), room.width() * 0.4), room.width() * 510.0 / 1592);
    resizeDocks({m_flowDock, m_tableDock}, shared(room.width() - kSeparator, {room.width() - side, side}),
                Qt::Horizontal);
    const double below =
        std::max(std::min<double>(px(kLeastStreams), room.height() * 0.35), room.height() * 210.0 / 898);
    resizeDocks({m_flowDock, m_streamsDock}, shared(room.height() - kSeparator, {room.height() - below, below}),
                Qt::Vertical);
    resizeDocks({m_tableDock, m_mapDock}, shared(room.height() - kSeparator, {420, 470}), Qt::Vertical);
}

} // namespace retro::app

#include "moc_kernelsworkspace.cpp"
