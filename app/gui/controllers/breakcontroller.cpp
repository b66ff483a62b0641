// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/breakcontroller.h"

#include "app/gui/window/workspaces.h"

#include <QAction>

namespace retro::app
{

BreakController::BreakController(const NavigatorContext& context, EngineWorkspace& workspace, QObject* parent)
    : QObject(parent), m_context(context)
{
    connect(&context.actions.at(QStringLiteral("run.breakpoint")), &QAction::triggered, this,
            [this] { m_context.breakpoints.toggle(node()); });
    connect(&context.actions.at(QStringLiteral("run.breakpointedit")), &QAction::triggered, &workspace,
            [this, &workspace] {
                if (const base::NodeId at = node(); at.isValid()) {
                    emit editingStarted();
                    workspace.editBreakpoint(at);
                }
            });
}

base::NodeId BreakController::node() const
{
    if (!m_context.model.hasRun()) {
        return {};
    }
    const base::NodeId selected = m_context.model.nodeOf(m_context.selection.thing());
    return selected.isValid() ? selected : m_context.model.state().current;
}

} // namespace retro::app

#include "moc_breakcontroller.cpp"
