// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/window/workspaces.h"

namespace retro::views
{
class DataFlowView;
class LutChoice;
} // namespace retro::views

namespace retro::app
{

/// What LUT layers run: the data flow of their kernels as the largest thing, streams below, a table and the map of
/// relevance at the right.
class KernelsWorkspace final : public Workspace
{
    Q_OBJECT

public:
    explicit KernelsWorkspace(const WorkspaceContext& context, QWidget* parent = nullptr);
    [[nodiscard]] views::DataFlowView& dataFlow() const { return *m_flow; }
    [[nodiscard]] views::LutChoice& choice() const { return *m_choice; }

protected:
    void applySizes() override;
    [[nodiscard]] std::vector<Pack> packs() const override;

private:
    views::LutChoice* m_choice = nullptr;
    views::DataFlowView* m_flow = nullptr;
    QDockWidget* m_flowDock = nullptr;
    QDockWidget* m_streamsDock = nullptr;
    QDockWidget* m_tableDock = nullptr;
    QDockWidget* m_mapDock = nullptr;
};

} // namespace retro::app
