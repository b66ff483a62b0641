// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/stepping/navigator.h"

namespace retro::app
{

class EngineWorkspace;

/// F9 and Ctrl+F9: breakpoints at the selected node, or at the current one when nothing is selected. GUI thread.
class BreakController final : public QObject
{
    Q_OBJECT

public:
    BreakController(const NavigatorContext& context, EngineWorkspace& workspace, QObject* parent = nullptr);

signals:
    /// The condition is open for editing in the Engine workspace.
    void editingStarted();

private:
    [[nodiscard]] base::NodeId node() const;

    NavigatorContext m_context;
};

} // namespace retro::app
