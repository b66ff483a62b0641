// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "views/plan/planmodel.h"

namespace retro::tests
{

/// A chain of `operators` with a skip from each to the one after the next, all results of `bytes`, every operator of
/// cost 10; its gradient reads operands and results. Values are "v0", "v1", …, operators "op0", "op1", ….
[[nodiscard]] views::PlanSubjectPointer chainSubject(std::size_t operators, std::uint64_t bytes = 1000);
/// The same of a graph: an operator of cost 10 per node, every result of 1,000 bytes; names are the graph's.
[[nodiscard]] views::PlanSubjectPointer subjectOfGraph(const graph::Graph& graph);
/// The plan of a question; fails the program when there is none.
[[nodiscard]] views::ShownPlanPointer planFor(const views::PlanSubjectPointer& subject,
                                              const views::PlanQuestion& question);
/// Answers every question of a model at once, as the window does later.
void answerQuestions(views::PlanModel& plan);

} // namespace retro::tests
