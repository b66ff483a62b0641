// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"

#include <QElapsedTimer>
#include <QObject>

class QTimer;

namespace retro::app
{

/// Plays one step, forwards or backwards: the cursor glides over the events of the step in 320 ms. A step that is asked
/// for meanwhile ends it at once, and so does whoever else moves the cursor. Without somebody to see it (views::
/// isMotionSeen) the cursor goes there at once. GUI thread.
class StepGlide final : public QObject
{
    Q_OBJECT

public:
    StepGlide(views::RunModel& model, views::Cursor& cursor, QObject* parent = nullptr);

    void goTo(std::uint64_t position);
    /// To the end of the step that is on its way, if there is one.
    void finish();
    [[nodiscard]] bool isRunning() const { return m_isRunning; }
    /// Where the cursor is `share` (0…1) of the way through the step.
    [[nodiscard]] double momentAt(double share) const;

private:
    void advance();
    void end();

    views::RunModel& m_model;
    views::Cursor& m_cursor;
    QTimer* m_timer = nullptr;
    QElapsedTimer m_clock;
    std::uint64_t m_from = 0;
    std::uint64_t m_to = 0;
    double m_set = -1; ///< the moment that was set last: another one is somebody else's
    bool m_isRunning = false;
};

} // namespace retro::app
