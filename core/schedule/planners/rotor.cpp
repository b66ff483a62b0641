// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cutchain.h"
#include "core/schedule/planners/blockends.h"
#include "core/schedule/planners/candidates.h"
#include "core/schedule/planners/plannerlist.h"
#include "core/schedule/planners/rotortable.h"

#include <algorithm>
#include <array>

namespace retro::schedule
{

namespace
{

constexpr std::size_t kMostRotorStages = 32;
constexpr std::uint32_t kSlots = 200;
/// The programme's memory is conservative: it is tried with more than the budget, and the real peak decides.
constexpr std::array<double, 9> kRotorShares{1.6, 1.4, 1.25, 1.15, 1.05, 1.0, 0.93, 0.85, 0.75};

std::uint64_t savedBytes(const CutChain& chain, std::size_t stage)
{
    const OpGraph& graph = chain.graph();
    std::uint64_t bytes = 0;
    for (const OpId op : chain.forward(stage)) {
        for (const OpValueId output : graph.op(op).outputs) {
            const auto& crossing = chain.crossing(stage);
            const bool isNeeded =
                graph.isReadByGradient(output) || std::binary_search(crossing.begin(), crossing.end(), output);
            bytes += isNeeded && !graph.value(output).isPinned ? graph.value(output).bytes : 0;
        }
    }
    return bytes;
}

RotorChain chainOf(const CutChain& chain)
{
    const OpGraph& graph = chain.graph();
    RotorChain result;
    const auto add = [&](double uf, double ub, std::uint64_t wa, std::uint64_t wabar, std::uint64_t ob) {
        result.forwardTime.push_back(uf);
        result.backwardTime.push_back(ub);
        result.outputBytes.push_back(wa);
        result.savedBytes.push_back(wabar);
        result.gradientBytes.push_back(wa);
        result.forwardTemporary.push_back(0);
        result.backwardTemporary.push_back(ob);
    };
    add(0, 0, 0, 0, 0);
    for (std::size_t stage = 0; stage < chain.size(); ++stage) {
        double forward = 0;
        double backward = 0;
        for (const OpId op : chain.forward(stage)) {
            forward += graph.op(op).cost;
        }
        std::uint64_t largest = 0;
        for (const OpId op : chain.gradient(stage)) {
            backward += graph.op(op).cost;
            largest = std::max(largest, graph.outputBytes(op, false) + graph.op(op).workspace);
        }
        add(forward, backward, chain.crossingBytes(stage), savedBytes(chain, stage), largest);
    }
    return result;
}

/// Carries a persistent schedule out on the operators.
class Expansion
{
public:
    explicit Expansion(const CutChain& chain) : m_chain(chain), m_replay(chain.graph()) {}

    bool run(const RotorStep& step)
    {
        const std::size_t stage = step.stage - 1;
        switch (step.kind) {
        case RotorKind::Backward:
            return backward(stage);
        case RotorKind::ForwardAll:
            return forward(stage);
        case RotorKind::ForwardKeepInput:
            return forward(stage) && forget(stage, false);
        case RotorKind::ForwardForget:
            return forward(stage) && forget(stage, true);
        }
        return false;
    }

    [[nodiscard]] const std::vector<OpId>& sequence() const { return m_replay.sequence(); }

private:
    bool forward(std::size_t stage)
    {
        for (const OpId op : m_chain.forward(stage)) {
            if (!m_replay.ensure(op)) {
                return false;
            }
        }
        return true;
    }

    void drop(OpValueId id)
    {
        const analysis::OpValue& value = m_chain.graph().value(id);
        if (value.producer != kNone && m_chain.graph().op(value.producer).mayRepeat() && !value.isPinned) {
            m_replay.drop(id);
        }
    }

    /// Keeps of a stage only what crosses behind it; with `hasInput` also lets go of what crossed before it.
    bool forget(std::size_t stage, bool hasInput)
    {
        const auto& crossing = m_chain.crossing(stage);
        const auto crosses = [&](OpValueId id) { return std::binary_search(crossing.begin(), crossing.end(), id); };
        std::vector<OpValueId> past = hasInput ? m_chain.crossing(stage - 1) : std::vector<OpValueId>();
        for (const OpId op : m_chain.forward(stage)) {
            const std::vector<OpValueId>& outputs = m_chain.graph().op(op).outputs;
            past.insert(past.end(), outputs.begin(), outputs.end());
        }
        for (const OpValueId id : past) {
            if (!crosses(id)) {
                drop(id);
            }
        }
        return true;
    }

    bool backward(std::size_t stage)
    {
        m_replay.takeMade();
        for (const OpId op : m_chain.gradient(stage)) {
            if (!m_replay.run(op)) {
                return false;
            }
        }
        for (const OpValueId id : m_replay.takeMade()) {
            drop(id);
        }
        for (const OpId op : m_chain.forward(stage)) {
            for (const OpValueId output : m_chain.graph().op(op).outputs) {
                drop(output);
            }
        }
        return true;
    }

    const CutChain& m_chain;
    Replay m_replay;
};

std::optional<std::vector<OpId>> expand(const CutChain& chain, const std::vector<RotorStep>& steps)
{
    Expansion expansion(chain);
    for (const RotorStep& step : steps) {
        if (!expansion.run(step)) {
            return std::nullopt;
        }
    }
    return expansion.sequence();
}

base::Result<Draft> rotorDraft(const PlanRequest& request)
{
    const Halves halves = halvesOf(*request.graph, request.baseSequence());
    if (halves.forward.empty()) {
        return base::engineError("the graph has no forward operators: there is nothing to rebuild");
    }
    const CutChain chain(*request.graph, halves, endsFor(request, halves.forward, kMostRotorStages));
    const RotorChain times = chainOf(chain);
    const Deadline deadline(request);
    BestDraft best(request);
    bool isCut = false;
    for (const double share : kRotorShares) {
        const RotorTable table(times, static_cast<std::uint64_t>(static_cast<double>(request.budget) * share), kSlots,
                               [&] { return deadline.isOver(); });
        if (!table.isFinished()) {
            isCut = true;
            break;
        }
        const std::vector<RotorStep> steps = table.steps();
        std::optional<std::vector<OpId>> sequence = steps.empty() ? std::nullopt : expand(chain, steps);
        if (sequence) {
            Draft draft;
            draft.sequence = std::move(*sequence);
            draft.annotations.blocks = chain.ends();
            best.offer(std::move(draft));
        }
        if (best.fits() || deadline.isOver()) {
            break; // less memory only costs more
        }
    }
    if (!best.hasAny() && isCut) {
        return base::engineError("its table was not finished in time; give more seconds, or ask for fewer blocks");
    }
    if (!best.hasAny()) {
        return base::engineError("no schedule that keeps a stored value until its gradient fits the budget");
    }
    return std::move(best).take();
}

} // namespace

const Planner kRotor{"rotor", "Rotor",
                     "optimal persistent schedules of heterogeneous chains (Beaumont et al.) over cut sets",
                     &rotorDraft};

} // namespace retro::schedule
