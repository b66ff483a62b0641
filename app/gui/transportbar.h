// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/stepper.h"
#include "views/common/actions.h"
#include "views/common/viewcontext.h"

#include <QToolBar>

#include <memory>

class QActionGroup;
class QLabel;
class QLineEdit;
class QTimer;

namespace retro::views
{
class ElidedLabel;
}

namespace retro::app
{

/// Moves the cursor: first, back, forward, last, play both ways, next mode change; layer, visit or event at a time;
/// shows the position, what happens there in words, and a few figures. GUI thread.
class TransportBar final : public QToolBar
{
    Q_OBJECT

public:
    TransportBar(views::ActionRegistry& actions, views::RunModel& model, views::Cursor& cursor,
                 QWidget* parent = nullptr);

    void setGranularity(Granularity granularity);
    [[nodiscard]] Granularity granularity() const { return m_granularity; }
    [[nodiscard]] const Stepper& stepper() const { return m_stepper; }

private:
    enum class Direction { Stopped, Forward, Back };
    void connectActions(views::ActionRegistry& actions);
    void addGranularity();
    void takeRun();
    void showPosition();
    void goToTyped();
    void play(Direction direction);
    void tick();
    void stepBy(bool isForward);
    void goToModeChange(bool isForward);
    void stepOver();
    [[nodiscard]] QString nowInWords() const;

    views::ActionRegistry& m_actions;
    views::RunModel& m_model;
    views::Cursor& m_cursor;
    Stepper m_stepper;
    Granularity m_granularity = Granularity::Visit;
    Direction m_direction = Direction::Stopped;
    QActionGroup* m_group = nullptr;
    QLineEdit* m_position = nullptr;
    QLabel* m_count = nullptr;
    views::ElidedLabel* m_now = nullptr;
    QLabel* m_figures = nullptr;
    QTimer* m_timer = nullptr;
};

} // namespace retro::app
