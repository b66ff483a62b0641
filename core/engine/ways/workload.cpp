// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/workload.h"

#include "core/base/bytesize.h"
#include "core/base/memorylimit.h"
#include "core/engine/explain/inputrelevance.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/ways/program.h"
#include "core/engine/ways/wantedrow.h"
#include "core/lrp/rules/reverseflops.h"
#include "core/ops/kernel/floatproduct.h"
#include "core/ops/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

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
constexpr double kForwardReads = 3;                  ///< times that a value is written or read, forward
constexpr double kReverseReads = 8;                  ///< the same in the relevance pass
constexpr double kWidenedBytes = 10;                 ///< that widening a weight for a product reads and writes

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

bool mixesRows(StructureKind kind)
{
    return kind == StructureKind::Composed || kind == StructureKind::Bilinear || kind == StructureKind::Softmax ||
           kind == StructureKind::Differentiable || kind == StructureKind::Reduction;
}

std::uint64_t weightBytesOf(const BoundModel& model)
{
    std::set<const void*> seen;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < model.graph().valueCount(); ++i) {
        const tensor::Tensor& constant = model.storedConstant(ValueId(i));
        if (constant.isValid() && seen.insert(constant.storage().get()).second) {
            bytes += static_cast<std::uint64_t>(constant.bytes());
        }
    }
    return bytes;
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
            const ops::BoundOperator& op = m_model.op(NodeId(i));
            for (const ValueId output : graph.node(NodeId(i)).outputs) {
                live += output.isValid() && counts(output) ? bytesOf(m_model.typeOf(output)) : 0;
            }
            std::uint64_t inner = 0; // of a composed operator: scores, say
            if (op.structure().kind() == StructureKind::Composed) {
                for (const ops::TensorType& type : op.outputTypes()) {
                    inner = std::max(inner, bytesOf(type));
                }
            }
            if (graph.node(NodeId(i)).op == "Attention") {
                inner = std::min(inner, 2 * kPieceBytes);
            }
            most = std::max(most, live + inner);
            for (const ValueId input : graph.node(NodeId(i)).inputs) {
                if (input.isValid() && --readers[input.index()] == 0 && !m_isKept[input.index()] && counts(input)) {
                    live -= std::min(live, bytesOf(m_model.typeOf(input)));
                }
            }
        }
        return most;
    }

private:
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
    const graph::Graph& graph = model.graph();
    std::vector<bool> isNeeded(graph.valueCount(), false);
    for (const ValueId target : targets) {
        isNeeded[target.index()] = true;
    }
    std::vector<NodeId> nodes;
    for (std::size_t i = graph.nodeCount(); i-- > 0;) {
        const graph::Node& node = graph.node(NodeId(i));
        const bool isWanted = std::ranges::any_of(
            node.outputs, [&](ValueId value) { return value.isValid() && isNeeded[value.index()]; });
        if (!isWanted) {
            continue;
        }
        nodes.emplace_back(i);
        for (const ValueId input : node.inputs) {
            if (input.isValid()) {
                isNeeded[input.index()] = true;
            }
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
    if (model.graph().node(node).op == "Attention") { // in pieces
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

/// Multiply-adds (as two) in a second, of a product like those of a language model.
double measuredRate()
{
    constexpr std::int64_t kRows = 128;
    constexpr std::int64_t kWidth = 1024;
    constexpr int kTimes = 4; // the first one wakes the threads
    const std::vector<float> a(static_cast<std::size_t>(kRows * kWidth), 0.5F);
    const std::vector<float> b(static_cast<std::size_t>(kWidth * kWidth), 0.25F);
    std::vector<float> c(static_cast<std::size_t>(kRows * kWidth));
    double best = 0;
    for (int i = 0; i < kTimes; ++i) {
        const Stopwatch watch;
        ops::multiplyFloats({a.data(), kRows, kWidth, kWidth, 1}, {b.data(), kWidth, kWidth, kWidth, 1}, c.data(),
                            kWidth);
        best = std::max(best, 2.0 * static_cast<double>(kRows * kWidth * kWidth) / std::max(watch.seconds(), 1e-9));
    }
    return best;
}

/// Bytes that a loop over numbers reads or writes in a second.
double measuredBytes()
{
    constexpr std::size_t kNumbers = std::size_t{4} << 20;
    std::vector<float> numbers(kNumbers, 1.0F);
    double best = 0;
    for (int i = 0; i < 3; ++i) {
        const Stopwatch watch;
        ops::parallelFor(kNumbers, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t k = begin; k < end; ++k) {
                numbers[static_cast<std::size_t>(k)] = numbers[static_cast<std::size_t>(k)] * 0.5F + 1.0F;
            }
        });
        best = std::max(best, 2.0 * kNumbers * sizeof(float) / std::max(watch.seconds(), 1e-9));
    }
    return best;
}

/// Work of a pass: operations, and bytes that go through the loops over elements.
struct Work
{
    double flops = 0;
    double bytes = 0;
};

/// Weights of a linear map that are stored in another type than products read.
double widenedWeights(const BoundModel& model, NodeId node)
{
    const graph::Node& one = model.graph().node(node);
    double count = 0;
    for (const ValueId operand : one.inputs) {
        const tensor::Tensor& stored = operand.isValid() ? model.storedConstant(operand) : tensor::Tensor();
        if (!stored.isValid() || model.op(node).structure().kind() != StructureKind::LinearMap) {
            continue;
        }
        const bool isHalf = stored.dtype() == tensor::DType::Float16 || stored.dtype() == tensor::DType::BFloat16;
        const bool isPacked = one.op == "MatMulNBits" && stored.dtype() == tensor::DType::UInt8;
        const auto bits = one.attributes.find("bits");
        const auto* width = bits == one.attributes.end() ? nullptr : std::get_if<std::int64_t>(&bits->second);
        constexpr double kByteBits = 8;
        constexpr std::int64_t kUsualBits = 4; // of a MatMulNBits that does not say
        const std::int64_t stands = width != nullptr && *width > 0 ? *width : kUsualBits;
        const double perElement = isPacked ? kByteBits / static_cast<double>(stands) : 1;
        count = isHalf || isPacked ? std::max(count, perElement * static_cast<double>(stored.size())) : count;
    }
    return count;
}

Work workOf(const BoundModel& model, std::span<const ValueId> targets, bool isOneRow)
{
    Work work;
    bool isBehindMixing = isOneRow; // relevance of one row, until a node mixes the rows
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        work.flops += model.op(NodeId(i)).flops();
        work.bytes += kWidenedBytes * widenedWeights(model, NodeId(i));
        for (const ops::TensorType& type : model.op(NodeId(i)).outputTypes()) {
            work.bytes += kForwardReads * static_cast<double>(bytesOf(type));
        }
    }
    for (const NodeId node : nodesBelow(model, targets)) {
        const std::vector<std::uint8_t> tracked = trackedOf(model, node);
        isBehindMixing = isBehindMixing && !mixesRows(model.op(node).structure().kind());
        if (std::ranges::count(tracked, 1) == 0) {
            continue;
        }
        work.flops += isBehindMixing ? 0 : lrp::reverseFlops(model, node, tracked);
        work.bytes += kWidenedBytes * widenedWeights(model, node);
        for (const ops::TensorType& type : model.op(node).outputTypes()) {
            work.bytes += kReverseReads * static_cast<double>(bytesOf(type));
        }
    }
    return work;
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
                                const std::stop_token& stop)
{
    ProgramCache cache;
    const StageProgress silent;
    Pass pass(model, request, stop, silent, &cache);
    RETRO_CHECK(pass.bind());
    const std::shared_ptr<const BoundModel> bound = pass.result.model;
    std::vector<ValueId> kept;
    if (request.inputsOnly) {
        RETRO_TRY(const KnownCourse known, knownCourse(pass, true));
        if (known.runner) {
            kept = InputPass::keptValues(bound, *known.runner, pass.targets);
        }
    }
    const bool keepsAll = kept.empty();
    kept = keepsAll ? keptByPolicy(*bound, request.keepValues ? execute::SavePolicy::All : request.save) : kept;
    PassEstimate made;
    made.weightBytes = weightBytesOf(*bound);
    const ForwardMemory forward(*bound, kept);
    made.keptBytes = forward.kept();
    for (const NodeId node : nodesBelow(*bound, pass.targets)) {
        made.stepBytes = std::max(made.stepBytes, stepBytesOf(*bound, node));
    }
    std::uint64_t reverse = made.keptBytes + made.stepBytes;
    reverse += keepsAll ? relevanceBytes(*bound) : 0;
    made.tensorBytes = std::max(forward.peak(), reverse);
    made.processBytes = made.weightBytes + made.tensorBytes + kProgramBytes;
    const Work work = workOf(*bound, pass.targets, isOneRow);
    made.flops = work.flops;
    made.seconds = work.flops / measuredRate() + work.bytes / measuredBytes();
    return made;
}

} // namespace

std::vector<std::string> PassEstimate::lines() const
{
    return {fmt::format("memory       {} at most, of which weights {} and tensors {} (kept {}, largest step {})",
                        base::bytesText(processBytes), base::bytesText(weightBytes), base::bytesText(tensorBytes),
                        base::bytesText(keptBytes), base::bytesText(stepBytes)),
            fmt::format("time         {:.2f} s on {} threads, {:.1f} GFLOP", seconds, ops::threads(), flops / 1e9)};
}

Result<PassEstimate> estimate(const LoadedModel& model, const ExplainRequest& request, const std::stop_token& stop)
{
    RETRO_CHECK(checkRequest(request));
    if (const std::optional<WantedRow> asked = WantedRow::of(model, request)) {
        if (Result<PassEstimate> made = estimateOf(asked->model(), asked->request(), true, stop); made.ok()) {
            return made;
        }
    }
    return estimateOf(model, request, false, stop);
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
