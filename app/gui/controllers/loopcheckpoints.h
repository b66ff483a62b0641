// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

namespace retro::views
{
class PlannersView;
class RunPanel;
} // namespace retro::views

namespace retro::app
{

/// Checkpoints of loops are a part of the question, which the run panel holds; the pane Planners shows and asks them,
/// too. GUI thread.
class LoopCheckpoints final : public QObject
{
    Q_OBJECT

public:
    LoopCheckpoints(views::RunPanel& panel, views::PlannersView& planners, QObject* parent);

private:
    void show();
    void ask(int every);

    views::RunPanel& m_panel;
    views::PlannersView& m_planners;
};

} // namespace retro::app
