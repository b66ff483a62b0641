// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/workload.h"

#include "core/base/bytesize.h"
#include "core/base/memorylimit.h"
#include "core/engine/explain/inputrelevance.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/ways/program.h"
#include "core/engine/ways/sampledtime.h"
#include "core/engine/ways/wantedrow.h"
#include "core/execute/weightbytes.h"
#include "core/graph/reach.h"
#include "core/lrp/rules/reverseflops.h"
#include "core/ops/layerkind.h"
#include "core/ops/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace retro::engine
{

namespace
{

using base::NodeId;
using base::Result;
using base::ValueId;
using execute::BoundModel;
using ops::StructureKind;

// Measured on language models of 1 B weights, 128 and 512 tokens.
constexpr std::uint64_t kProgramBytes = 48ULL << 20; ///< of the program itself
constexpr std::uint64_t kLinearParts = 3;            ///< tensors of a result that the rule of a linear map makes
constexpr std::uint64_t kOtherParts = 2;             ///< of the other rules
constexpr std::uint64_t kComposedParts = 9;          ///< of the largest inner value of a composed operator
constexpr std::uint64_t kPieceBytes = 8U << 20;      ///< of the scores of an attention that are held at once

std::uint64_t bytesOf(const ops::TensorType& type)
{
    return static_cast<std::uint64_t>(tensor::elementCount(type.shape)) * tensor::sizeOf(type.dtype);
}

/// A result that shares the memory of its operand.
bool isView(const ops::BoundOperator& op)
{
    return op.structure().kind() == StructureKind::ShapeMap &&
           static_cast<const ops::ShapeMap&>(op.structure()).isRearrangement();
}

/// Memory of forward values over the nodes of a pass.
class ForwardMemory
{
public:
    ForwardMemory(const BoundModel& model, std::span<const ValueId> kept)
        : m_model(model), m_isKept(model.graph().valueCount(), false)
    {
        for (const ValueId value : kept) {
            m_isKept[value.index()] = true;
        }
    }

    /// Kept bytes; a view of a kept value is no more.
    [[nodiscard]] std::uint64_t kept() const
    {
        std::uint64_t bytes = 0;
        for (std::size_t i = 0; i < m_isKept.size(); ++i) {
            bytes += m_isKept[i] && !isViewOfKept(ValueId(i)) ? bytesOf(m_model.typeOf(ValueId(i))) : 0;
        }
        return bytes;
    }

    /// The most that values take together while they are computed.
    [[nodiscard]] std::uint64_t peak() const
    {
        const graph::Graph& graph = m_model.graph();
        std::vector<std::size_t> readers(graph.valueCount());
        for (std::size_t i = 0; i < readers.size(); ++i) {
            readers[i] = graph.uses(ValueId(i)).size();
        }
        std::uint64_t live = 0;
        std::uint64_t most = 0;
        for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
            for (const ValueId output : graph.node(NodeId(i)).outputs) {
                live += output.isValid() && counts(output) ? bytesOf(m_model.typeOf(output)) : 0;
            }
            most = std::max(most, live + innerBytes(NodeId(i)));
            for (const ValueId input : graph.node(NodeId(i)).inputs) {
                if (input.isValid() && --readers[input.index()] == 0 && !m_isKept[input.index()] && counts(input)) {
                    live -= std::min(live, bytesOf(m_model.typeOf(input)));
                }
            }
        }
        return most;
    }

private:
    /// What a composed operator holds while it runs: scores, say.
    [[nodiscard]] std::uint64_t innerBytes(NodeId node) const
    {
        const ops::BoundOperator& op = m_model.op(node);
        std::uint64_t inner = 0;
        if (op.structure().kind() == StructureKind::Composed) {
            for (const ops::TensorType& type : op.outputTypes()) {
                inner = std::max(inner, bytesOf(type));
            }
        }
        return ops::isAttention(m_model.graph().node(node)) ? std::min(inner, 2 * kPieceBytes) : inner;
    }
    [[nodiscard]] bool counts(ValueId value) const
    {
        const NodeId producer = m_model.graph().value(value).producer;
        return producer.isValid() && !m_model.isConstant(value) && !isView(m_model.op(producer));
    }
    [[nodiscard]] bool isViewOfKept(ValueId value) const
    {
        const NodeId producer = m_model.graph().value(value).producer;
        if (!producer.isValid() || !isView(m_model.op(producer))) {
            return false;
        }
        const ValueId operand = m_model.graph().node(producer).inputs.front();
        return operand.isValid() && (m_isKept[operand.index()] || isViewOfKept(operand));
    }

    const BoundModel& m_model;
    std::vector<bool> m_isKept;
};

std::vector<std::uint8_t> trackedOf(const BoundModel& model, NodeId node)
{
    std::vector<std::uint8_t> tracked;
    for (const ValueId input : model.graph().node(node).inputs) {
        tracked.push_back(input.isValid() && model.isTracked(input) ? 1 : 0);
    }
    return tracked;
}

/// Nodes that the targets depend on, from the last one to the first.
std::vector<NodeId> nodesBelow(const BoundModel& model, std::span<const ValueId> targets)
{
    const std::vector<bool> isBelow = graph::ancestorsOf(model.graph(), targets).nodes;
    std::vector<NodeId> nodes;
    for (std::size_t i = model.graph().nodeCount(); i-- > 0;) {
        if (isBelow[i]) {
            nodes.emplace_back(i);
        }
    }
    return nodes;
}

/// What the rule of a node takes beside the values that are kept.
std::uint64_t stepBytesOf(const BoundModel& model, NodeId node)
{
    const ops::BoundOperator& op = model.op(node);
    std::uint64_t largest = 0;
    for (const ops::TensorType& type : op.outputTypes()) {
        largest = std::max(largest, bytesOf(type));
    }
    if (ops::isAttention(model.graph().node(node))) { // in pieces
        largest = std::min(largest, std::max(kPieceBytes, bytesOf(op.outputTypes()[0])));
    }
    std::uint64_t operands = 0;
    for (const ValueId input : model.graph().node(node).inputs) {
        operands += input.isValid() && model.isTracked(input) ? bytesOf(model.typeOf(input)) : 0;
    }
    const StructureKind kind = op.structure().kind();
    const std::uint64_t parts = kind == StructureKind::Composed    ? kComposedParts
                                : kind == StructureKind::LinearMap ? kLinearParts
                                                                   : kOtherParts;
    return parts * largest + 2 * operands;
}

double flopsOf(const BoundModel& model, std::span<const ValueId> targets, bool isOneRow)
{
    double flops = 0;
    bool isBehindMixing = isOneRow; // relevance of one row, until a node mixes the rows
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        flops += model.op(NodeId(i)).flops();
    }
    for (const NodeId node : nodesBelow(model, targets)) {
        const std::vector<std::uint8_t> tracked = trackedOf(model, node);
        isBehindMixing = isBehindMixing && !mixesRows(model.op(node).structure().kind());
        if (std::ranges::count(tracked, 1) > 0) {
            flops += isBehindMixing ? 0 : lrp::reverseFlops(model, node, tracked);
        }
    }
    return flops;
}

/// Per value the last node that reads it, or that reads what is computed late from it.
std::vector<std::size_t> lastReadersOf(const graph::Graph& graph, const execute::RebuildingStore& store)
{
    std::vector<std::size_t> lastReader(graph.valueCount(), 0);
    for (std::size_t i = graph.nodeCount(); i-- > 0;) {
        const graph::Node& node = graph.node(NodeId(i));
        std::size_t last = i;
        for (const ValueId output : node.outputs) {
            last = output.isValid() && store.isRebuilt(output) ? std::max(last, lastReader[output.index()]) : last;
        }
        for (const ValueId input : node.inputs) {
            if (input.isValid()) {
                lastReader[input.index()] = std::max(lastReader[input.index()], last);
            }
        }
    }
    return lastReader;
}

/// How the bytes of forward values change from each node on downwards.
std::vector<std::int64_t> changesOf(const BoundModel& model, const execute::RebuildingStore& store)
{
    const graph::Graph& graph = model.graph();
    const std::vector<std::size_t> lastReader = lastReadersOf(graph, store);
    std::vector<std::int64_t> change(graph.nodeCount() + 1, 0);
    const auto lives = [&](ValueId value, std::size_t from) {
        const NodeId producer = graph.value(value).producer;
        const auto bytes = static_cast<std::int64_t>(bytesOf(model.typeOf(value)));
        change[from] += bytes;
        if (producer.isValid() && producer.index() > 0) {
            change[producer.index() - 1] -= bytes;
        }
    };
    for (const ValueId value : store.keptValues()) {
        if (!model.isConstant(value)) {
            lives(value, graph.nodeCount());
        }
    }
    for (const ValueId value : store.lateValues()) {
        lives(value, lastReader[value.index()]);
    }
    return change;
}

/// The most that forward values and a rule take together over a relevance pass in which each value lives until its last
/// reader: what is kept until its producer's turn, what is computed late from its last reader's turn on.
std::uint64_t reversePeak(const BoundModel& model, const execute::RebuildingStore& store,
                          std::span<const ValueId> targets)
{
    const graph::Graph& graph = model.graph();
    const std::vector<std::int64_t> change = changesOf(model, store);
    const std::vector<bool> isBelow = graph::ancestorsOf(graph, targets).nodes;
    std::int64_t live = change[graph.nodeCount()];
    std::int64_t most = live;
    for (std::size_t i = graph.nodeCount(); i-- > 0;) {
        live += change[i];
        const std::uint64_t step = isBelow[i] ? stepBytesOf(model, NodeId(i)) : 0;
        most = std::max(most, live + static_cast<std::int64_t>(step));
    }
    return static_cast<std::uint64_t>(std::max<std::int64_t>(most, 0));
}

/// Every value that carries relevance, once: a pass that keeps them all has them to the end.
std::uint64_t relevanceBytes(const BoundModel& model)
{
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < model.graph().valueCount(); ++i) {
        bytes += model.isTracked(ValueId(i)) ? bytesOf(model.typeOf(ValueId(i))) : 0;
    }
    return bytes;
}

std::vector<ValueId> keptByPolicy(const BoundModel& model, execute::SavePolicy policy)
{
    const execute::SavePlan plan(model, policy);
    std::vector<ValueId> kept;
    for (std::size_t i = 0; i < model.graph().valueCount(); ++i) {
        if (plan.keeps(ValueId(i)) && !model.isConstant(ValueId(i))) {
            kept.emplace_back(i);
        }
    }
    return kept;
}

Result<PassEstimate> estimateOf(const LoadedModel& model, const ExplainRequest& request, bool isOneRow,
                                const std::stop_token& stop, double sampling)
{
    ProgramCache cache;
    const StageProgress silent;
    const Stopwatch opening;
    Pass pass(model, request, stop, silent, &cache);
    RETRO_CHECK(pass.bind());
    const std::shared_ptr<const BoundModel> bound = pass.result.model;
    std::vector<ValueId> kept;
    std::shared_ptr<execute::RebuildingStore> store;
    if (request.inputsOnly) {
        RETRO_TRY(const KnownCourse known, knownCourse(pass, true));
        if (known.runner) {
            store = InputPass::emptyStore(bound, *known.runner, pass.targets);
            kept = store->keptValues();
        }
    }
    const bool keepsAll = kept.empty();
    kept = keepsAll ? keptByPolicy(*bound, request.keepValues ? execute::SavePolicy::All : request.save) : kept;
    PassEstimate made;
    made.weightBytes = execute::weightBytes(*bound);
    const ForwardMemory forward(*bound, kept);
    made.keptBytes = forward.kept();
    for (const NodeId node : nodesBelow(*bound, pass.targets)) {
        made.stepBytes = std::max(made.stepBytes, stepBytesOf(*bound, node));
    }
    const std::uint64_t reverse =
        keepsAll ? made.keptBytes + made.stepBytes + relevanceBytes(*bound) : reversePeak(*bound, *store, pass.targets);
    made.tensorBytes = std::max(forward.peak(), reverse);
    made.processBytes = made.weightBytes + made.tensorBytes + kProgramBytes;
    made.flops = flopsOf(*bound, pass.targets, isOneRow) + (store ? store->lateFlops() : 0);
    made.secondsOpening = model.seconds + opening.seconds();
    if (checkEstimate(made).ok()) { // else there is no room to run anything either
        const double processorBefore = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
        const tensor::StoragePool::Use pool(cache.pool());
        RETRO_TRY(const SampledTime time, sampledTime(pass, store.get(), isOneRow, sampling));
        made.secondsForward = time.forward.wall;
        made.secondsRelevance = time.relevance.wall;
        made.seconds = made.secondsOpening + made.secondsForward + made.secondsRelevance;
        made.processorSeconds = processorBefore + time.forward.processor + time.relevance.processor;
        made.isTimed = true;
    }
    return made;
}

} // namespace

std::vector<std::string> PassEstimate::lines() const
{
    return {
        fmt::format("memory       {} at most, of which weights {} and tensors {} (kept {}, largest step {})",
                    base::bytesText(processBytes), base::bytesText(weightBytes), base::bytesText(tensorBytes),
                    base::bytesText(keptBytes), base::bytesText(stepBytes)),
        isTimed
            ? fmt::format(
                  "time         {:.2f} s on {} threads (opening {:.2f}, forward {:.2f}, relevance {:.2f}; processor "
                  "{:.2f} s), {:.1f} GFLOP",
                  seconds, ops::threads(), secondsOpening, secondsForward, secondsRelevance, processorSeconds,
                  flops / 1e9)
            : fmt::format("time         not known, {:.1f} GFLOP", flops / 1e9)};
}

Result<PassEstimate> estimate(const LoadedModel& model, const ExplainRequest& request, const std::stop_token& stop,
                              double sampling)
{
    RETRO_CHECK(checkRequest(request));
    if (std::optional<WantedRow> asked = WantedRow::of(model, request)) {
        const std::optional<LoadedModel> narrow = asked->narrowed(stop);
        const LoadedModel& row = narrow ? *narrow : asked->model();
        if (Result<PassEstimate> made = estimateOf(row, asked->request(), true, stop, sampling); made.ok()) {
            return made;
        }
    }
    return estimateOf(model, request, false, stop, sampling);
}

Result<void> checkEstimate(const PassEstimate& estimate)
{
    const std::uint64_t limit = base::MemoryLimit::bytes();
    if (estimate.tensorBytes > limit) {
        return base::memoryError(
            fmt::format("tensors would take {}, but {} may be used; allow more (--memory SIZE), ask for the inputs' "
                        "relevance alone (--inputs-only), or give a shorter input",
                        base::bytesText(estimate.tensorBytes), base::bytesText(limit)),
            "--estimate");
    }
    const std::uint64_t free = base::machineMemory().available;
    if (free > 0 && estimate.tensorBytes > free) {
        return base::memoryError(fmt::format("tensors would take {}, but the machine has {} free; end other programs, "
                                             "ask for the inputs' relevance alone (--inputs-only), or give a shorter "
                                             "input",
                                             base::bytesText(estimate.tensorBytes), base::bytesText(free)),
                                 "--estimate");
    }
    return {};
}

} // namespace retro::engine
