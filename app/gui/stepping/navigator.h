// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/stepping/stepglide.h"
#include "app/gui/stepping/stepper.h"
#include "app/gui/stepping/travel.h"
#include "views/common/actions.h"
#include "views/common/widgets/breakpointlist.h"

#include <QObject>

namespace retro::app
{

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
    [[nodiscard]] bool canMove() const;

    NavigatorContext m_context;
    std::shared_ptr<const Stepper> m_stepper;
    StepGlide* m_glide = nullptr;
    Granularity m_granularity = Granularity::Visit;
    RunTarget m_target = RunTarget::Breakpoint;
};

} // namespace retro::app
