// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/gradient.h"

#include "core/base/cancel.h"
#include "core/base/memoryaccount.h"
#include "core/engine/explain/numericalstop.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/gradient/choseninputs.h"
#include "core/engine/gradient/modelrules.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/precision.h"
#include "core/execute/overflow.h"
#include "core/execute/reachedvalues.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;
using tape::Bundle;
using tape::Id;
using tensor::Tensor;

namespace
{

class Visits final : public tape::Watcher<Bundle>
{
public:
    Visits(const StageProgress& progress, std::size_t cells) : m_progress(progress), m_cells(cells) {}

    std::size_t count = 0;

    void onCell(Id id, const Bundle&, const std::vector<tape::Contribution<Bundle>>&) override
    {
        ++count;
        if (m_progress && count % 64 == 0) {
            m_progress("gradient", m_cells - id, m_cells);
        }
    }

private:
    const StageProgress& m_progress;
    std::size_t m_cells;
};

/// Only the slots of the graph inputs are asked for.
tape::Kept keptInputs(const tape::ModelTape& made)
{
    tape::Kept kept(made.tape.size(), 0);
    for (std::size_t i = 0; i < made.model->graph().inputs().size(); ++i) {
        kept[i] = 1;
    }
    return kept;
}

void takeGradients(const tape::ModelTape& made, tape::Slots<Bundle> arrived, std::span<const base::ValueId> chosen,
                   GradientResult& result)
{
    for (std::size_t i = 0; i < made.model->graph().inputs().size(); ++i) {
        const Tensor& value = made.tape.cell(static_cast<Id>(i)).value.only();
        Tensor gradient;
        if (std::ranges::find(chosen, made.model->graph().inputs()[i]) == chosen.end()) {
            result.gradients.emplace_back();
            continue;
        }
        if (arrived[i]) {
            gradient = arrived[i]->only();
        } else if (tensor::isFloating(value.dtype())) {
            gradient = Tensor::zeros(value.dtype(), value.shape());
        }
        result.gradients.push_back(std::move(gradient));
    }
}

/// Takes what no chosen input reaches out of the reverse pass.
void keepReached(tape::ModelTape& made, const std::vector<bool>& isReached)
{
    const graph::Graph& graph = made.model->graph();
    const auto reached = [&isReached](base::ValueId value) { return value.isValid() && isReached[value.index()]; };
    for (Id id = 0; id < made.tape.size(); ++id) {
        const bool stays = made.valueOf[id].isValid()
                               ? reached(made.valueOf[id])
                               : std::ranges::any_of(graph.node(made.nodeOf[id]).outputs, reached);
        if (!stays) {
            made.tape.setTracked(id, false);
        }
    }
}

} // namespace

Result<Id> targetCell(const tape::ModelTape& made, base::ValueId target)
{
    const Id id = made.idOf[target.index()];
    if (id == tape::ModelTape::kNowhere || !made.tape.cell(id).isTracked) {
        return base::usageError(fmt::format("the target \"{}\" does not depend on a floating input by operators that "
                                            "pass a gradient; choose another target, or ask for --parameters",
                                            made.model->graph().value(target).name));
    }
    return id;
}

Result<GradientResult> gradient(std::shared_ptr<const execute::BoundModel> model, const GradientRequest& request,
                                std::stop_token stop, const StageProgress& progress)
{
    GradientResult result;
    result.model = std::move(model);
    const graph::Graph& graph = result.model->graph();
    if (progress) {
        progress("forward", 0, 1);
    }
    Stopwatch forward;
    const std::vector<Tensor> inputs = inPrecision(graph, request.inputs, request.precision);
    RETRO_TRY(tape::ModelTape made, tape::compileModel(result.model, inputs, gradientRule(result.model), stop));
    for (const base::ValueId output : graph.outputs()) {
        const Id cell = made.idOf[output.index()]; // an initializer that nothing reads has none
        result.outputs.push_back(cell == tape::ModelTape::kNowhere ? result.model->constant(output)
                                                                   : made.tape.cell(cell).value.only());
    }
    const auto overflow = execute::firstOverflow(*result.model, [&made](base::ValueId value) {
        const Id cell = made.idOf[value.index()];
        return cell == tape::ModelTape::kNowhere ? Tensor() : made.tape.cell(cell).value.only();
    });
    if (std::string warning = overflowWarning(graph, overflow); !warning.empty()) {
        result.warnings.push_back(std::move(warning));
    }
    result.secondsForward = forward.seconds();
    const Stopwatch reverse;
    std::string note;
    RETRO_TRY(const base::ValueId target, targetValue(request.target, *result.model, &note));
    RETRO_TRY(const Id id, targetCell(made, target));
    RETRO_TRY(result.target, resolveTargetOf({result.model, inputs, {}, stop}, request.target, {StartKind::One, {}},
                                             target, made.tape.cell(id).value.only()));
    if (!note.empty()) {
        result.target.notes.push_back(std::move(note));
    }
    tape::Slots<Bundle> seed(made.tape.size());
    seed[id] = Bundle(result.target.start);
    RETRO_TRY(const std::vector<base::ValueId> chosen, chosenInputs(graph, request.from));
    if (!request.from.empty()) {
        keepReached(made, execute::reachedValues(*result.model, chosen));
    }
    Visits visits(progress, made.tape.size());
    auto arrived = tape::skippingLoop<Bundle>(made.tape, std::move(seed), &visits, keptInputs(made));
    RETRO_CHECK(base::checkStop(stop));
    if (!arrived.ok()) {
        return arrived.error().asError();
    }
    takeGradients(made, std::move(arrived).value(), chosen, result);
    result.cells = made.tape.size();
    result.visited = visits.count;
    result.secondsReverse = reverse.seconds();
    result.peakBytes = base::MemoryAccount::tensors().peak();
    return result;
}

Result<GradientResult> gradient(const LoadedModel& model, const GradientRequest& request, std::stop_token stop,
                                const StageProgress& progress)
{
    base::MemoryAccount::tensors().resetPeak();
    const Stopwatch watch;
    std::vector<std::string> leftOut;
    RETRO_TRY(
        std::shared_ptr<const execute::BoundModel> bound,
        bindModel(model, request.inputs, request.precision, nullptr, stop, bindOptionsFor(request.target), &leftOut));
    const double seconds = watch.seconds();
    RETRO_TRY(GradientResult result, gradient(std::move(bound), request, stop, progress));
    result.secondsBind = seconds;
    result.target.notes.insert(result.target.notes.begin(), leftOut.begin(), leftOut.end());
    return result;
}

} // namespace retro::engine
