// SPDX-License-Identifier: Apache-2.0
#include "app/gui/stepping/navigator.h"

#include "core/trace/motion.h"
#include "core/trace/valuebreaks.h"
#include "views/common/paint/motion.h"

#include <QAction>
#include <QCoreApplication>
#include <QTimer>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::app
{

namespace
{

using event::EventKind;

/// The promise that waits at a state and was raised last, before `limit`; invalid when none.
base::PromiseId innermost(const trace::RunState& state, std::uint64_t limit)
{
    for (std::size_t i = state.promises.size(); i-- > 0;) {
        const trace::PromiseState& promise = state.promises[i];
        if (!promise.isComplete && promise.openedAt + 1 < limit) {
            return base::PromiseId(i);
        }
    }
    return {};
}

bool isAbout(const trace::Event& event, base::PromiseId promise)
{
    return (event.kind == EventKind::NewPromise || event.kind == EventKind::Complete) && event.promise == promise.value;
}

Destination meetPromise(const trace::Run& run, base::PromiseId promise, std::uint64_t position, bool isForward)
{
    if (isForward) {
        for (std::uint64_t step = position; step < run.eventCount(); ++step) {
            if (isAbout(run.events[step], promise)) {
                return step + 1;
            }
        }
        return std::nullopt;
    }
    for (std::uint64_t stop = std::min(position, run.eventCount() + 1); stop-- > 1;) {
        if (isAbout(run.events[stop - 1], promise)) {
            return stop;
        }
    }
    return std::nullopt;
}

constexpr int kGlideFrame = 16;    // milliseconds
constexpr double kGlideTime = 320; // milliseconds for a step
constexpr double kOneVisit = 1;    // visits per second: a step shows everything

constexpr std::array kMoves{"go.first",     "go.runback",       "go.back",      "go.play",          "go.forward",
                            "go.run",       "go.last",          "go.over",      "go.overback",      "go.out",
                            "go.outback",   "go.mode",          "go.modeback",  "go.violation",     "go.violationback",
                            "go.fulfilled", "go.fulfilledback", "go.selection", "go.selectionback", "go.creep",
                            "go.creepback"};

constexpr double kCreep = 0.1; // of a visit

constexpr std::array<const char*, kRunTargets> kTargetNames{
    QT_TRANSLATE_NOOP("retro::app::Navigator", "breakpoint"),
    QT_TRANSLATE_NOOP("retro::app::Navigator", "selection"),
    QT_TRANSLATE_NOOP("retro::app::Navigator", "mode change"),
    QT_TRANSLATE_NOOP("retro::app::Navigator", "promise opened"),
    QT_TRANSLATE_NOOP("retro::app::Navigator", "promise fulfilled"),
    QT_TRANSLATE_NOOP("retro::app::Navigator", "lost relevance"),
    QT_TRANSLATE_NOOP("retro::app::Navigator", "NaN"),
    QT_TRANSLATE_NOOP("retro::app::Navigator", "end")};

/// What a target is as a breakpoint, for those that are one.
std::optional<trace::BreakKind> kindOf(RunTarget target)
{
    switch (target) {
    case RunTarget::ModeChange:
        return trace::BreakKind::ModeChanged;
    case RunTarget::PromiseOpened:
        return trace::BreakKind::PromiseOpened;
    case RunTarget::Fulfilment:
        return trace::BreakKind::PromiseFulfilled;
    case RunTarget::Violation:
        return trace::BreakKind::RelevanceLost;
    case RunTarget::NonFinite:
        return trace::BreakKind::NonFinite;
    case RunTarget::Breakpoint:
    case RunTarget::Selection:
    case RunTarget::End:
        break;
    }
    return std::nullopt;
}

} // namespace

Destination finishPromise(const trace::Run& run, const trace::RunState& state, std::uint64_t position)
{
    const base::PromiseId promise = innermost(state, position + 1);
    for (std::uint64_t step = position; promise.isValid() && step < run.eventCount(); ++step) {
        if (run.events[step].kind == EventKind::Complete && run.events[step].promise == promise.value) {
            return step + 1;
        }
    }
    return std::nullopt;
}

Destination openingOfPromise(const trace::Run& run, const trace::RunState& state, std::uint64_t position)
{
    if (position == 0 || position > run.eventCount()) {
        return std::nullopt;
    }
    const trace::Event& last = run.events[position - 1];
    const base::PromiseId promise =
        last.kind == EventKind::Complete ? base::PromiseId(last.promise) : innermost(state, position);
    if (!promise.isValid()) {
        return std::nullopt;
    }
    return state.promises[promise.index()].openedAt + 1;
}

Destination nextOfSelection(const trace::Run& run, const views::SelectedThing& selected, base::NodeId node,
                            std::uint64_t position, bool isForward)
{
    if (const auto* promise = std::get_if<base::PromiseId>(&selected)) {
        return meetPromise(run, *promise, position, isForward);
    }
    if (!node.isValid()) {
        return std::nullopt;
    }
    trace::Breakpoint visit;
    visit.node = node;
    return isForward ? trace::nextStop(run, visit, position) : trace::previousStop(run, visit, position);
}

StepGlide::StepGlide(views::RunModel& model, views::Cursor& cursor, QObject* parent)
    : QObject(parent), m_model(model), m_cursor(cursor), m_timer(new QTimer(this))
{
    m_timer->setInterval(kGlideFrame);
    connect(m_timer, &QTimer::timeout, this, &StepGlide::advance);
    connect(&cursor, &views::Cursor::glided, this, [this](double moment) {
        if (m_isRunning && moment != m_set) {
            end(); // somebody else moves
        }
    });
}

void StepGlide::goTo(std::uint64_t position)
{
    finish();
    if (!views::isMotionSeen() || position == m_cursor.position() || !m_model.hasRun()) {
        m_cursor.moveTo(position);
        return;
    }
    m_from = m_cursor.position();
    m_to = position;
    m_isRunning = true;
    m_cursor.setSpeed(kOneVisit);
    m_clock.start();
    m_timer->start();
}

double StepGlide::momentAt(double share) const
{
    return m_model.derived<trace::Motion>()->pace().between(m_from, m_to, share);
}

void StepGlide::advance()
{
    const double share = static_cast<double>(m_clock.elapsed()) / kGlideTime;
    if (share >= 1 || !m_model.hasRun()) {
        finish();
        return;
    }
    m_set = momentAt(share);
    m_cursor.glideTo(m_set);
}

void StepGlide::finish()
{
    if (m_isRunning) {
        end();
        m_cursor.moveTo(m_to);
    }
}

void StepGlide::end()
{
    m_isRunning = false;
    m_timer->stop();
    m_cursor.setSpeed(0);
}

QString nameOf(RunTarget target)
{
    return QCoreApplication::translate("retro::app::Navigator", kTargetNames[static_cast<std::size_t>(target)]);
}

Navigator::Navigator(const NavigatorContext& context, QObject* parent)
    : QObject(parent), m_context(context), m_glide(new StepGlide(context.model, context.cursor, this))
{
    connectActions();
    connect(&context.model, &views::RunModel::runChanged, this, &Navigator::takeRun);
    takeRun();
}

void Navigator::connectActions()
{
    const auto on = [this](const char* id, auto&& action) {
        connect(&m_context.actions.at(QLatin1String(id)), &QAction::triggered, this,
                std::forward<decltype(action)>(action));
    };
    const auto both = [&](const char* id, const char* back, auto&& action) {
        on(id, [action] { action(true); });
        on(back, [action] { action(false); });
    };
    both("go.forward", "go.back", [this](bool isForward) { step(m_granularity, isForward); });
    both("go.over", "go.overback", [this](bool isForward) { step(Granularity::Group, isForward); });
    both("go.out", "go.outback", [this](bool isForward) { stepOut(isForward); });
    both("go.run", "go.runback", [this](bool isForward) { runTo(m_target, isForward); });
    both("go.last", "go.first", [this](bool isForward) { runTo(RunTarget::End, isForward); });
    both("go.mode", "go.modeback", [this](bool isForward) { runTo(RunTarget::ModeChange, isForward); });
    both("go.violation", "go.violationback", [this](bool isForward) { runTo(RunTarget::Violation, isForward); });
    both("go.fulfilled", "go.fulfilledback", [this](bool isForward) { runTo(RunTarget::Fulfilment, isForward); });
    both("go.creep", "go.creepback", [this](bool isForward) { stepFinely(isForward); });
    both("go.selection", "go.selectionback", [this](bool isForward) { runTo(RunTarget::Selection, isForward); });
}

void Navigator::takeRun()
{
    m_stepper = m_context.model.hasRun() ? m_context.model.derived<Stepper>() : std::make_shared<const Stepper>();
    for (const char* id : kMoves) {
        m_context.actions.at(QLatin1String(id)).setEnabled(canMove());
    }
    emit runTaken();
}

void Navigator::setGranularity(Granularity granularity)
{
    m_granularity = granularity;
    emit granularityChanged();
}

void Navigator::setRunTarget(RunTarget target)
{
    m_target = target;
    emit runTargetChanged();
}

void Navigator::step(Granularity granularity, bool isForward)
{
    emit moveRequested();
    m_glide->finish();
    const std::uint64_t position = m_context.cursor.position();
    m_glide->goTo(isForward ? m_stepper->next(position, granularity) : m_stepper->previous(position, granularity));
}

Destination Navigator::placeOf(RunTarget target, bool isForward) const
{
    const trace::Run& run = m_context.model.run();
    const std::uint64_t position = m_context.model.position();
    if (target == RunTarget::Selection) {
        const views::SelectedThing& thing = m_context.selection.thing();
        return nextOfSelection(run, thing, m_context.model.nodeOf(thing), position, isForward);
    }
    std::vector<trace::Breakpoint> wanted;
    if (target == RunTarget::Breakpoint) {
        wanted = m_context.breakpoints.active();
    } else if (const auto kind = kindOf(target)) {
        wanted.emplace_back().kind = *kind;
    }
    return isForward ? trace::nextStop(run, wanted, position) : trace::previousStop(run, wanted, position);
}

/// To the end or the start; where a breakpoint was looked for, it is said that none holds.
void Navigator::runToEdge(bool isForward, bool isBreakpoint)
{
    m_context.cursor.moveTo(isForward ? m_context.cursor.end() : 0);
    if (isBreakpoint && !m_context.breakpoints.active().empty()) {
        emit said(isForward ? tr("No breakpoint holds after this step: ran to the end.")
                            : tr("No breakpoint holds before this step: ran back to the start."));
    }
}

void Navigator::runTo(RunTarget target, bool isForward)
{
    emit moveRequested();
    if (!canMove()) {
        return;
    }
    const Destination place = placeOf(target, isForward);
    if (place) {
        m_context.cursor.moveTo(*place);
        if (target == RunTarget::Breakpoint) {
            reportStop(*place);
        }
        return;
    }
    if (target == RunTarget::Breakpoint || target == RunTarget::End) {
        runToEdge(isForward, target == RunTarget::Breakpoint);
        return;
    }
    if (target == RunTarget::Selection && m_context.selection.isEmpty()) {
        emit said(tr("Select a node or a promise first, then run to it."));
        return;
    }
    emit said(isForward ? tr("Run to %1: there is none after this step.").arg(nameOf(target))
                        : tr("Run to %1: there is none before this step.").arg(nameOf(target)));
}

void Navigator::reportStop(std::uint64_t position)
{
    if (const QString reason = stopReason(position); !reason.isEmpty()) {
        emit said(tr("Stopped: %1").arg(reason));
    }
}

/// The conditions that hold at a position, as they were typed; of those that look at numbers, why.
QString Navigator::stopReason(std::uint64_t position) const
{
    const trace::Run& run = m_context.model.run();
    QStringList holding;
    for (const views::BreakpointEntry& entry : m_context.breakpoints.entries()) {
        // It holds where it is the next stop from right before.
        const bool holds = entry.isEnabled && entry.found && position > 0 &&
                           trace::nextStop(run, *entry.found, position - 1) == position;
        if (holds) {
            const QString why = QString::fromStdString(trace::whyStopped(run, *entry.found, position));
            holding.append(trace::looksAtNumbers(entry.found->kind) && !why.isEmpty() ? why : entry.condition);
        }
    }
    return holding.join(QStringLiteral(", "));
}

void Navigator::stepOut(bool isForward)
{
    emit moveRequested();
    if (!canMove()) {
        return;
    }
    const trace::Run& run = m_context.model.run();
    const std::uint64_t position = m_context.model.position();
    const Destination place = isForward ? finishPromise(run, m_context.model.state(), position)
                                        : openingOfPromise(run, m_context.model.state(), position);
    if (place) {
        m_context.cursor.moveTo(*place);
    } else {
        emit said(tr("No promise waits at this step."));
    }
}

bool Navigator::goToText(const QString& typed)
{
    const QString text = typed.trimmed();
    if (!canMove()) {
        return false;
    }
    emit moveRequested();
    QString unclear = tr("Type a number, +10, -10, 50%, or @ and the name of a node.");
    const bool isName = text.startsWith(QLatin1Char('@'));
    const Destination place = isName ? placeOfNode(text.mid(1).trimmed(), unclear) : placeOfNumber(text);
    if (place) {
        m_context.cursor.moveTo(*place);
    } else {
        emit said(unclear);
    }
    return place.has_value();
}

void Navigator::stepFinely(bool isForward)
{
    emit moveRequested();
    m_glide->finish();
    if (!canMove()) {
        return;
    }
    if (views::isMotionReduced()) {
        step(Granularity::Event, isForward);
        return;
    }
    constexpr double kNearly = 1e-6; // ten of them are a visit
    const auto whole = [](double x) { return std::abs(x - std::round(x)) < kNearly ? std::round(x) : x; };
    const trace::Pace& pace = m_context.model.derived<trace::Motion>()->pace();
    const double visits = pace.visitsAt(m_context.cursor.moment()) + (isForward ? kCreep : -kCreep);
    m_context.cursor.glideTo(whole(pace.momentAt(whole(visits))));
}

Destination Navigator::placeOfNode(const QString& name, QString& unclear) const
{
    const graph::Graph& graph = m_context.model.graph();
    if (const auto node = graph.findNode(name.toStdString())) {
        if (const Destination place = m_context.model.relevanceStep(*node)) {
            return place;
        }
        unclear = tr("No relevance comes to %1.").arg(name);
        return std::nullopt;
    }
    std::vector<base::NodeId> named; // as the window names them: whole
    std::vector<base::NodeId> alike; // or in part
    for (std::size_t i = 0; i < graph.runNodeCount() && !name.isEmpty(); ++i) {
        const base::NodeId node(i);
        const QString full = QString::fromStdString(graph.labelOf(node));
        const QString label = m_context.model.placeLabel(node);
        if (full.compare(name, Qt::CaseInsensitive) == 0 || label.compare(name, Qt::CaseInsensitive) == 0) {
            named.push_back(node);
        } else if (full.contains(name, Qt::CaseInsensitive) || label.contains(name, Qt::CaseInsensitive)) {
            alike.push_back(node);
        }
    }
    const std::vector<base::NodeId>& found = named.empty() ? alike : named;
    if (found.empty()) {
        unclear = tr("No node has %1 in its name.").arg(name);
        return std::nullopt;
    }
    if (found.size() > 1) {
        unclear = tr("%n nodes have %1 in their names, the first is %2; type more of it.", nullptr,
                     static_cast<int>(found.size()))
                      .arg(name, m_context.model.placeLabel(found.front()));
        return std::nullopt;
    }
    const Destination place = m_context.model.relevanceStep(found.front());
    if (!place) {
        unclear = tr("No relevance comes to %1.").arg(m_context.model.placeLabel(found.front()));
    }
    return place;
}

Destination Navigator::placeOfNumber(const QString& text) const
{
    bool isNumber = false;
    const bool isPercent = text.endsWith(QLatin1Char('%'));
    const double value = (isPercent ? text.chopped(1) : text).toDouble(&isNumber);
    if (!isNumber) {
        return std::nullopt;
    }
    const bool isRelative = text.startsWith(QLatin1Char('+')) || text.startsWith(QLatin1Char('-'));
    const double count = static_cast<double>(m_stepper->count(m_granularity));
    // Inside of a step, one more is its end and one less is its beginning, as with the buttons.
    const std::uint64_t position = m_context.cursor.position();
    const double here =
        static_cast<double>(text.startsWith(QLatin1Char('+')) ? m_stepper->passed(position, m_granularity)
                                                              : m_stepper->index(position, m_granularity));
    const double target = isPercent ? value / 100 * count : (isRelative ? here + value : value);
    return m_stepper->positionOf(static_cast<std::uint64_t>(std::clamp(target, 0.0, count)), m_granularity);
}

} // namespace retro::app

#include "moc_navigator.cpp"
