// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/plancommands.h"

#include "app/gui/window/planworkspace.h"
#include "views/common/viewcontext.h"
#include "views/graph/graphview.h"
#include "views/plan/planmodel.h"
#include "views/plan/rowlink.h"
#include "views/plan/schedulepane.h"
#include "views/plan/scheduleview.h"
#include "views/plan/tensorsview.h"

#include <array>
#include <limits>

namespace retro::app
{

namespace
{

using views::ActionSpec;

constexpr std::array kPlanActions{
    ActionSpec{"plan.first", RETRO_ACTION("To the f&irst plan step"), RETRO_ACTION("To the first step of the plan"),
               "first", "Ctrl+Alt+Home"},
    ActionSpec{"plan.last", RETRO_ACTION("To the &last plan step"), RETRO_ACTION("To the last step of the plan"),
               "last", "Ctrl+Alt+End"},
    ActionSpec{"plan.turnback", RETRO_ACTION("To t&he promise before"),
               RETRO_ACTION("Back to the step before at which a value went for a while, or came back"), "runback", ""},
    ActionSpec{"plan.turn", RETRO_ACTION("To the &next promise"),
               RETRO_ACTION("On to the next step at which a value goes for a while, or is back"), "runforward", ""},
    ActionSpec{"plan.back", RETRO_ACTION("Plan step &back"), RETRO_ACTION("One step of the plan back"), "back",
               "Ctrl+Alt+Left"},
    ActionSpec{"plan.forward", RETRO_ACTION("Plan step &forward"), RETRO_ACTION("One step of the plan forward"),
               "forward", "Ctrl+Alt+Right"},
    ActionSpec{"plan.play", RETRO_ACTION("&Play the plan"), RETRO_ACTION("Go through the plan step by step, or pause"),
               "play", "Ctrl+Alt+Space"},
    ActionSpec{
        "plan.run", RETRO_ACTION("&Run by this plan"),
        RETRO_ACTION("Carry out the pass that is planned for as the plan says, and compare with what it promised"),
        "runforward", ""},
    ActionSpec{"plan.fast", RETRO_ACTION("Plan f&ast"),
               RETRO_ACTION("Ask every fast planner and take the best plan that fits"), "runforward", ""},
    ActionSpec{"plan.best", RETRO_ACTION("Plan b&est"), RETRO_ACTION("Search for a better plan for five seconds"),
               "search", ""},
    ActionSpec{"plan.mine", RETRO_ACTION("Plan as &I choose"),
               RETRO_ACTION("Keep and recompute what was chosen by hand"), "pin", ""},
    ActionSpec{"plan.keep", RETRO_ACTION("&Keep the tensor"),
               RETRO_ACTION("Keep the selected tensor until its gradient"), "check", ""},
    ActionSpec{"plan.recompute", RETRO_ACTION("&Recompute the tensor"),
               RETRO_ACTION("Drop the selected tensor and compute it again"), "redo", ""},
    ActionSpec{"plan.forget", RETRO_ACTION("F&orget my choices"),
               RETRO_ACTION("Let a planner choose again what is kept"), "undo", ""},
    ActionSpec{"plan.found", RETRO_ACTION("Show ho&w it was found"),
               RETRO_ACTION("Show what planners tried and let go, step by step, as a run"), "node", ""},
    ActionSpec{"plan.curve", RETRO_ACTION("Points of &all planners"),
               RETRO_ACTION("Ask every fast planner at many budgets, in the background"), "node", ""},
    ActionSpec{"plan.fit", RETRO_ACTION("Show the &whole plan"),
               RETRO_ACTION("Fit every step and tensor of the schedule"), "zoomfit", ""},
};

/// Which pass is planned for: always of use.
constexpr std::array kHalfActions{
    ActionSpec{"plan.for.relevance", RETRO_ACTION("Plan for rele&vance"),
               RETRO_ACTION("Plan for forward pass and relevance, as the question has it"), "tag", ""},
    ActionSpec{"plan.for.gradient", RETRO_ACTION("Plan for the &gradient"),
               RETRO_ACTION("Plan for forward pass and gradient of the target"), "back", ""},
    ActionSpec{"plan.for.forward", RETRO_ACTION("Plan for the for&ward pass"),
               RETRO_ACTION("Plan for the forward pass alone"), "forward", ""},
};
constexpr std::array kHalves{views::PlanFor::Relevance, views::PlanFor::Gradient, views::PlanFor::Forward};

/// Nodes whose results the plan that the run carried out has in memory at the cursor.
std::vector<base::NodeId> plannedNodes(const views::RunModel& model)
{
    const trace::RunState& state = model.state();
    std::vector<base::NodeId> nodes;
    for (std::size_t value = 0; value < state.planned.size() / 2; ++value) {
        const trace::PlannedTensor& one = state.planned[value];
        if (one.handle.isValid() && !model.graph().isInput(one.node)) {
            nodes.push_back(one.node);
        }
    }
    return nodes;
}

/// What the graph shows as live: of a run by a plan what it holds at the cursor, else what the plan on screen holds.
std::vector<base::NodeId> liveNow(const views::RunModel& model, const views::PlanModel& plan)
{
    if (!model.hasRun()) {
        return {};
    }
    if (!model.state().planned.empty()) {
        return plannedNodes(model);
    }
    return plan.plan() ? views::liveNodes(model.graph(), *plan.plan(), plan.step()) : std::vector<base::NodeId>();
}

} // namespace

void markLive(views::GraphView& graph, const views::RunModel& model, const views::PlanModel& plan)
{
    // Bound to the graph, which ends before the window's members do.
    const auto mark = [&graph, &model, &plan] { graph.setLive(liveNow(model, plan)); };
    QObject::connect(&model, &views::RunModel::runChanged, &graph, mark);
    QObject::connect(&model, &views::RunModel::stateChanged, &graph, [&model, mark] {
        if (model.hasRun() && !model.state().planned.empty()) {
            mark();
        }
    });
    for (const auto change : {&views::PlanModel::stepChanged, &views::PlanModel::planChanged}) {
        QObject::connect(&plan, change, &graph, mark);
    }
}

void addPlanActions(views::ActionRegistry& actions)
{
    actions.addAll(kPlanActions);
    actions.addAll(kHalfActions);
    for (const ActionSpec& spec : kHalfActions) {
        actions.at(QLatin1String(spec.id)).setCheckable(true);
    }
}

PlanCommands::PlanCommands(views::ActionRegistry& actions, views::PlanModel& plan, PlanWorkspace& space,
                           QObject* parent)
    : QObject(parent), m_actions(actions), m_plan(plan), m_space(space)
{
    connectSteps();
    connectChoices();
    connect(&plan, &views::PlanModel::stateChanged, this, &PlanCommands::enable);
    connect(&plan, &views::PlanModel::planChanged, this, &PlanCommands::enable);
    enable();
}

void PlanCommands::connectSteps()
{
    const auto on = [this](const char* id, auto&& work) {
        connect(&m_actions.at(QLatin1String(id)), &QAction::triggered, this, std::forward<decltype(work)>(work));
    };
    on("plan.back", [this] { m_plan.setStep(m_plan.place() - 1); });
    on("plan.forward", [this] { m_plan.setStep(m_plan.place() + 1); });
    on("plan.first", [this] { m_plan.setStep(std::numeric_limits<std::int64_t>::min()); });
    on("plan.last", [this] { m_plan.setStep(std::numeric_limits<std::int64_t>::max()); });
    on("plan.turnback", [this] { goToTurn(false); });
    on("plan.turn", [this] { goToTurn(true); });
    on("plan.play", [this] { m_space.schedule().play(!m_space.schedule().isPlaying()); });
    on("plan.fit", [this] { m_space.schedule().pane().fit(); });
}

void PlanCommands::goToTurn(bool isForward)
{
    if (m_plan.isSearching()) {
        m_plan.setStep(m_space.schedule().tryFrom(isForward));
    } else if (const auto turn =
                   m_plan.plan() ? m_plan.plan()->matrix.nextTurn(m_plan.step(), isForward) : std::nullopt) {
        m_plan.setStep(*turn);
    }
}

void PlanCommands::connectChoices()
{
    const auto on = [this](const char* id, auto&& work) {
        connect(&m_actions.at(QLatin1String(id)), &QAction::triggered, this, std::forward<decltype(work)>(work));
    };
    on("plan.fast", [this] { m_plan.setStrategy(views::kFastStrategy); });
    on("plan.best", [this] { m_plan.setStrategy(views::kBestStrategy); });
    on("plan.mine", [this] { m_plan.setStrategy(views::kUserStrategy); });
    on("plan.keep", [this] { m_space.schedule().chooseSelected(views::Decision::Keep); });
    on("plan.recompute", [this] { m_space.schedule().chooseSelected(views::Decision::Recompute); });
    on("plan.forget", [this] { m_plan.clearChoices(); });
    on("plan.found", [this] { m_plan.wantSearch(); });
    on("plan.curve", [this] { m_plan.wantCurve(true); });
    for (std::size_t i = 0; i < kHalves.size(); ++i) {
        on(kHalfActions[i].id, [this, i] {
            m_plan.setHalf(kHalves[i]);
            showHalf();
        });
    }
    connect(&m_plan, &views::PlanModel::halfChanged, this, &PlanCommands::showHalf);
    showHalf();
}

void PlanCommands::showHalf()
{
    for (std::size_t i = 0; i < kHalves.size(); ++i) {
        m_actions.at(QLatin1String(kHalfActions[i].id)).setChecked(m_plan.half() == kHalves[i]);
    }
}

void PlanCommands::enable()
{
    for (const ActionSpec& spec : kPlanActions) {
        m_actions.at(QLatin1String(spec.id)).setEnabled(m_plan.plan() != nullptr);
    }
}

} // namespace retro::app

#include "moc_plancommands.cpp"
