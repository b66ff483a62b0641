// SPDX-License-Identifier: Apache-2.0
#include "tests/core/runtime/relevancerun.h"

#include "core/engine/plan/relevancehalf.h"
#include "core/runtime/planrun.h"

#include <algorithm>

namespace retro::runtimetest
{

using tensor::Tensor;

std::vector<base::ValueId> relevanceTargets(const lrptest::TensorCase& one)
{
    std::vector<base::ValueId> targets;
    for (const lrp::Root& root : one.graph.roots()) {
        targets.push_back(one.model->graph().outputsOf(root.node)[root.output]);
    }
    return targets;
}

engine::PassSubject relevanceSubject(const lrptest::TensorCase& one)
{
    return engine::PassSubject::relevance(one.model, relevanceTargets(one),
                                          std::make_shared<const lrp::RuleAssignment>(one.rules),
                                          std::make_shared<const lrp::TraversalGraph>(one.graph));
}

QString faultOfRelevance(const lrptest::TensorCase& one, const runtime::JointProgram& program,
                         const schedule::Plan& plan, const lrp::RelevanceTable& expected)
{
    const graph::Graph& graph = one.model->graph();
    QString fault;
    std::size_t seen = 0;
    runtime::PlanRunOptions options;
    options.onMade = [&](const runtime::Made& made) {
        const base::NodeId node = graph.nodeOf(made.value);
        const std::size_t output = graph.isInput(node) ? 0 : graph.value(made.value).producerOutput;
        if (!made.isGradient || !one.graph.contains(node)) {
            return;
        }
        const Tensor& wanted = expected[node.index()][output];
        const bool isSame = wanted.isValid()
                                ? made.tensor.bitEqual(wanted)
                                : made.tensor.bitEqual(Tensor::zeros(made.tensor.dtype(), made.tensor.shape()));
        ++seen;
        if (!isSame && fault.isEmpty()) {
            fault = "relevance of " + QString::fromStdString(graph.value(made.value).name);
        }
    };
    const std::vector<base::ValueId> targets = relevanceTargets(one);
    const auto start = [&](base::ValueId target, const Tensor&) -> base::Result<Tensor> {
        return one.starts()[static_cast<std::size_t>(std::ranges::find(targets, target) - targets.begin())];
    };
    const runtime::ReverseHalf half = engine::relevanceHalf(relevanceSubject(one), start, nullptr);
    const auto run = runtime::runPlan(program, plan, one.inputs, half, options);
    if (!run.ok()) {
        return QString::fromStdString(run.error().text());
    }
    for (const runtime::StepRecord& row : run->steps) {
        if (row.measured.transient != row.predicted.transient || row.measured.after != row.predicted.after) {
            return QString("step %1 held other bytes than predicted").arg(row.index);
        }
    }
    if (run->peak != run->predicted.peak) {
        return "peak";
    }
    return seen == 0 ? "nothing was made" : fault;
}

} // namespace retro::runtimetest
