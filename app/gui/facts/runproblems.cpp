// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/runproblems.h"

#include "app/gui/shell/problemscontroller.h"
#include "core/ops/registry.h"
#include "core/trace/ledgersummary.h"
#include "core/trace/wrongnumber.h"
#include "views/common/numbertext.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::app
{

namespace
{

using views::Problem;
using views::ProblemOrigin;
using views::Severity;

/// More of one kind are counted in a last line.
constexpr std::size_t kMost = 50;
/// Share of what arrived at a node; the graph marks the same nodes with ✕.
constexpr double kUnexplained = 1e-6;

void addRest(std::vector<Problem>& problems, std::size_t left, ProblemOrigin origin)
{
    if (left > 0) {
        problems.push_back({Severity::Warning, origin, ProblemsController::tr("And %1 more of this kind.").arg(left)});
    }
}

double unexplainedShare(const trace::NodeBalance& balance)
{
    return balance.magnitude > 0 ? std::abs(balance.unexplained) / balance.magnitude : std::abs(balance.unexplained);
}

std::optional<Problem> problemOf(const trace::NodeBalance& balance)
{
    Problem problem{Severity::Warning, ProblemOrigin::Run};
    problem.node = balance.node;
    if (unexplainedShare(balance) <= kUnexplained) {
        return std::nullopt;
    }
    problem.what = ProblemsController::tr("%1 % of the relevance that arrived is unexplained.")
                       .arg(views::fixedText(unexplainedShare(balance) * 100, 4));
    problem.remedy = ProblemsController::tr("Compare the rule of this layer in the inspector with what it should be.");
    return problem;
}

bool isFinite(const trace::NodeBalance& balance)
{
    return std::isfinite(balance.magnitude) && std::isfinite(balance.handedOn);
}

/// Where it began first, then every node that it passed.
std::vector<Problem> wrongNumbers(const trace::Run& run, const std::vector<trace::NodeBalance>& balances)
{
    std::vector<Problem> problems;
    if (trace::firstWrongRow(run.ledger) == nullptr) {
        return problems;
    }
    const trace::PassNumbers numbers = trace::numbersOf(run);
    const std::optional<trace::WrongNumber> first = trace::firstWrongNumber(numbers);
    if (first) {
        problems.push_back(
            {Severity::Error, ProblemOrigin::Run,
             QString::fromStdString(fmt::format("{}: {}", first->where, first->text)),
             ProblemsController::tr("Here it began. The run went on past it, so that it can be stepped to: "
                                    "run to NaN. Look at the input and the weights; another rule or a "
                                    "larger epsilon often helps."),
             first->node});
    }
    std::size_t left = 0;
    for (const trace::NodeBalance& balance : balances) {
        if (isFinite(balance) || (first && balance.node == first->node)) {
            continue;
        }
        if (problems.size() == kMost) {
            ++left;
            continue;
        }
        problems.push_back({Severity::Error, ProblemOrigin::Run,
                            QString::fromStdString(trace::wrongNumbersAt(numbers, balance.node)),
                            ProblemsController::tr("It came from a node before; the first of these problems says where "
                                                   "it began."),
                            balance.node});
    }
    addRest(problems, left, ProblemOrigin::Run);
    return problems;
}

std::size_t openPromises(const trace::Run& run)
{
    std::size_t opened = 0;
    std::size_t completed = 0;
    for (const trace::Event& e : run.events) {
        opened += e.kind == event::EventKind::NewPromise ? 1 : 0;
        completed += e.kind == event::EventKind::Complete ? 1 : 0;
    }
    return opened - std::min(opened, completed);
}

/// What hands its operand on because a person asked for it.
void addPassedThrough(const engine::LoadedModel& model, std::vector<Problem>& problems)
{
    const graph::Graph& graph = *model.graph();
    const std::size_t most = problems.size() + kMost;
    std::size_t left = 0;
    for (const rewrite::RewriteStep& step : model.rewritten.steps) {
        if (step.name != rewrite::kPassThrough || step.isNote) {
            continue;
        }
        if (problems.size() == most) {
            ++left;
            continue;
        }
        Problem problem{Severity::Warning, ProblemOrigin::Model, QString::fromStdString(step.text),
                        ProblemsController::tr("Trust nothing behind this node.")};
        problem.node = graph.findNode(step.added.front()).value_or(base::NodeId());
        problems.push_back(std::move(problem));
    }
    addRest(problems, left, ProblemOrigin::Model);
}

/// Weights that are not there.
void addAbsentWeights(const engine::LoadedModel& model, std::vector<Problem>& problems)
{
    const std::size_t most = problems.size() + kMost;
    std::size_t left = 0;
    for (const graph::Value& value : model.graph()->values()) {
        if (value.kind != graph::ValueKind::Constant || value.constant.isValid()) {
            continue;
        }
        if (problems.size() == most) {
            ++left;
            continue;
        }
        problems.push_back(
            {Severity::Error, ProblemOrigin::Model,
             ProblemsController::tr("Weights %1 are not there: %2")
                 .arg(QString::fromStdString(value.name), QString::fromStdString(engine::absenceOf(model, value.name))),
             ProblemsController::tr("The graph can be looked at and planned for; what needs these "
                                    "weights cannot run.")});
    }
    addRest(problems, left, ProblemOrigin::Model);
}

} // namespace

std::vector<Problem> problemsOf(const engine::LoadedModel& model)
{
    std::vector<Problem> problems;
    addAbsentWeights(model, problems);
    const auto missing = ops::unsupported(*model.graph());
    if (missing.size() > 1 && missing.size() == model.graph()->nodeCount()) {
        return {{Severity::Warning, ProblemOrigin::Model,
                 ProblemsController::tr("None of its operators is implemented: this graph cannot be run."),
                 ProblemsController::tr("It can be looked at, and planned for in the workspace Plan.")}};
    }
    const std::size_t before = problems.size();
    for (const ops::UnsupportedNode& node : missing) {
        if (problems.size() == before + kMost) {
            break;
        }
        Problem problem{Severity::Error, ProblemOrigin::Model};
        problem.what =
            ProblemsController::tr("%1 cannot be run: %2")
                .arg(QString::fromStdString(model.graph()->labelOf(node.node)), QString::fromStdString(node.reason));
        problem.remedy = model.rewritten.options.passThrough
                             ? ProblemsController::tr("The graph can be looked at; the model cannot be explained.")
                             : ProblemsController::tr("The graph can be looked at. The run panel offers to go on with "
                                                      "pass-through, which is not conserved.");
        problem.node = node.node;
        problems.push_back(std::move(problem));
    }
    addRest(problems, missing.size() - (problems.size() - before), ProblemOrigin::Model);
    addPassedThrough(model, problems);
    return problems;
}

std::vector<Problem> problemsOf(const trace::Run& run)
{
    const std::vector<trace::NodeBalance> balances = trace::summarise(run).nodes;
    std::vector<Problem> problems = wrongNumbers(run, balances);
    const std::size_t most = problems.size() + kMost;
    std::size_t left = 0;
    for (const trace::NodeBalance& balance : balances) {
        auto problem = isFinite(balance) ? problemOf(balance) : std::nullopt;
        if (problem && problems.size() < most) {
            problems.push_back(std::move(*problem));
        } else if (problem) {
            ++left;
        }
    }
    addRest(problems, left, ProblemOrigin::Run);
    if (const std::size_t open = openPromises(run); open > 0) {
        problems.push_back({Severity::Warning, ProblemOrigin::Run,
                            ProblemsController::tr("%1 promises were not fulfilled by the end of the run.").arg(open),
                            ProblemsController::tr("The promise list says what each one waits for.")});
    }
    return problems;
}

} // namespace retro::app
