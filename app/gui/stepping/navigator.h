// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/stepping/stepper.h"
#include "core/trace/breakpoints.h"
#include "core/trace/runstate.h"
#include "views/common/actions.h"
#include "views/common/selection.h"
#include "views/common/viewcontext.h"
#include "views/common/widgets/breakpointlist.h"

#include <QElapsedTimer>
#include <QObject>

#include <cstdint>
#include <optional>

class QTimer;

namespace retro::app
{

/// A place in time to go to from a position; nothing when there is none in that direction. Pure functions over a
/// recorded run; `state` is the state at `position`.
using Destination = std::optional<std::uint64_t>;

/// Step out: just after the promise that waits and was raised last is fulfilled. Nothing when none waits or it never
/// is.
[[nodiscard]] Destination finishPromise(const trace::Run& run, const trace::RunState& state, std::uint64_t position);
/// Its mirror: from just after a promise was fulfilled back to just after it was raised; from elsewhere back to where
/// the innermost waiting promise was raised.
[[nodiscard]] Destination openingOfPromise(const trace::Run& run, const trace::RunState& state, std::uint64_t position);

/// Next (previous) time that something happens to what is selected: a visit of the node, or the raising and the
/// fulfilment of a promise. `node` is the node that the selection is about.
[[nodiscard]] Destination nextOfSelection(const trace::Run& run, const views::SelectedThing& selected,
                                          base::NodeId node, std::uint64_t position, bool isForward);

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

/// What "run" runs to.
enum class RunTarget : std::uint8_t {
    Breakpoint,
    Selection,
    ModeChange,
    PromiseOpened,
    Fulfilment,
    Violation,
    NonFinite,
    End
};
inline constexpr std::size_t kRunTargets = 8;

/// In words, for lists: "breakpoint", "selection", …
[[nodiscard]] QString nameOf(RunTarget target);

/// What the window's movements work on.
struct NavigatorContext
{
    views::ActionRegistry& actions;
    views::RunModel& model;
    views::Cursor& cursor;
    views::Selection& selection;
    views::BreakpointList& breakpoints;
};

/// Carries out every movement of the cursor that menus, keys and the tool bar offer, each both ways. GUI thread.
class Navigator final : public QObject
{
    Q_OBJECT

public:
    explicit Navigator(const NavigatorContext& context, QObject* parent = nullptr);

    [[nodiscard]] const Stepper& stepper() const { return *m_stepper; }
    [[nodiscard]] Granularity granularity() const { return m_granularity; }
    void setGranularity(Granularity granularity);
    [[nodiscard]] RunTarget runTarget() const { return m_target; }
    void setRunTarget(RunTarget target);

    void step(Granularity granularity, bool isForward);
    /// To the next (previous) place of a kind. To a breakpoint or the end: on to the end (start) when there is none;
    /// otherwise it stays and says so.
    void runTo(RunTarget target, bool isForward);
    /// Out of the promise that waits, or back to where it was raised.
    void stepOut(bool isForward);
    /// A position as people type it: "27", "+10", "-10", "50%", "@node" (a name, or a part of one that no other node
    /// has, small or large letters). False when it is unclear, and said() says why.
    bool goToText(const QString& text);
    /// A tenth of a visit on or back, between events too; with reduced motion an event.
    void stepFinely(bool isForward);

    /// Says why a run stops at a position: said() names the breakpoints that hold there. Nothing where none does.
    void reportStop(std::uint64_t position);

signals:
    /// Another run: the stepper is new.
    void runTaken();
    void granularityChanged();
    void runTargetChanged();
    /// A movement was asked for; playing should stop.
    void moveRequested();
    /// A sentence for the status bar.
    void said(const QString& sentence);

private:
    void connectActions();
    void takeRun();
    void runToEdge(bool isForward, bool isBreakpoint);
    [[nodiscard]] Destination placeOf(RunTarget target, bool isForward) const;
    [[nodiscard]] Destination placeOfNode(const QString& name, QString& unclear) const;
    [[nodiscard]] Destination placeOfNumber(const QString& text) const;
    [[nodiscard]] QString stopReason(std::uint64_t position) const;
    [[nodiscard]] bool canMove() const { return m_context.model.hasRun() && m_context.model.run().eventCount() > 0; }

    NavigatorContext m_context;
    std::shared_ptr<const Stepper> m_stepper;
    StepGlide* m_glide = nullptr;
    Granularity m_granularity = Granularity::Visit;
    RunTarget m_target = RunTarget::Breakpoint;
};

} // namespace retro::app
