// SPDX-License-Identifier: Apache-2.0
#include "core/execute/forward.h"

#include "core/event/observer.h"
#include "core/execute/recomputingstore.h"
#include "core/execute/runnode.h"
#include "core/graph/metadata.h"
#include "core/ops/registry.h"
#include "core/ops/runoperator.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace retro::execute
{

using ops::TensorType;

namespace
{

/// Element-wise nodes that write over an operand which nobody reads after them (metadata key rewrite puts there), in a
/// forward pass that gives operands away with their last reader. Each node runs block by block; a block is written
/// where its operand lay. Results are those of the plain node, bit for bit.
class Overwriting
{
public:
    /// Binds the marked nodes of a model to blocks; a node that cannot run in blocks is left out.
    explicit Overwriting(const BoundModel& model);

    /// Runs a marked node over operands of its own. Nothing when the node is not marked, or when the memory of the
    /// operand is not its alone: then it has to run as ever.
    [[nodiscard]] std::optional<Tensor> run(NodeId node, std::vector<Tensor>& operands) const;

private:
    using Operator = std::unique_ptr<ops::BoundOperator>;

    struct Marked
    {
        std::size_t slot = 0;      ///< operand that is written over
        std::vector<bool> isSplit; ///< per operand: goes by blocks; else one element that every block reads
        Operator whole;            ///< bound to a block
        Operator rest;             ///< bound to what is left behind the last whole block
    };

    static std::optional<Marked> bound(const BoundModel& model, NodeId node, std::size_t slot);
    static bool isAlone(const Marked& marked, const std::vector<Tensor>& operands);
    static std::vector<Tensor> block(const Marked& marked, const std::vector<Tensor>& operands, std::int64_t begin,
                                     std::int64_t count);
    static void runInBlocks(const Marked& marked, const std::vector<Tensor>& operands);

    std::map<NodeId, Marked> m_marked;
};

/// Elements of a block: a few of them fit a core's own cache. Whole vectors of any width.
constexpr std::int64_t kBlock = 32768;

/// The marked slot of a node.
std::optional<std::size_t> markedSlot(const graph::Node& node)
{
    const auto at = node.metadata.find(std::string(graph::kOverwrites));
    std::size_t slot = 0;
    if (at == node.metadata.end()) {
        return std::nullopt;
    }
    const std::string& text = at->second;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), slot);
    return read.ec == std::errc() && slot < node.inputs.size() ? std::optional(slot) : std::nullopt;
}

/// How a node reads an operand block by block.
struct BlockOperand
{
    TensorType type;
    Tensor constant;      ///< one element that every block reads
    bool isSplit = false; ///< goes by blocks
};

/// Nothing when the operand neither lies as the result does nor is one constant element.
std::optional<BlockOperand> blockOperand(const BoundModel& model, ValueId operand, const TensorType& made)
{
    if (!operand.isValid()) {
        return BlockOperand();
    }
    const TensorType type = model.typeOf(operand);
    if (type.shape == made.shape) {
        return BlockOperand{type, {}, true};
    }
    const bool isOne = model.isConstant(operand) && tensor::elementCount(type.shape) == 1;
    return isOne ? std::optional(BlockOperand{type, model.constant(operand), false}) : std::nullopt;
}

/// The node over `count` elements; null when it does not give as many.
std::unique_ptr<ops::BoundOperator> boundToBlock(const BoundModel& model, NodeId id,
                                                 const std::vector<BlockOperand>& operands, std::int64_t count)
{
    std::vector<TensorType> types;
    std::vector<Tensor> constants;
    for (const BlockOperand& operand : operands) {
        types.push_back({operand.type.dtype, operand.isSplit ? tensor::Shape{count} : operand.type.shape});
        constants.push_back(operand.constant);
    }
    const std::vector<tensor::DType> numbers = model.operandNumbers(id);
    auto op = ops::bind(
        {model.graph(), id, model.graph().node(id), types, constants, dtypeOf(model.precision()), nullptr, numbers});
    const tensor::DType made = model.op(id).outputTypes().front().dtype;
    const bool isFlat = op.ok() && (*op)->outputTypes() == std::vector{TensorType{made, {count}}};
    return isFlat ? std::move(*op) : nullptr;
}

/// `count` elements from `begin` on, in memory order.
Tensor blockOf(const Tensor& x, std::int64_t begin, std::int64_t count)
{
    return {x.dtype(), {count}, {1}, x.offset() + begin, x.storage()};
}

Overwriting::Overwriting(const BoundModel& model)
{
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        const std::optional<std::size_t> slot = markedSlot(model.graph().node(NodeId(i)));
        if (slot && model.graph().node(NodeId(i)).inputs[*slot].isValid()) {
            if (std::optional<Marked> marked = bound(model, NodeId(i), *slot)) {
                m_marked.emplace(NodeId(i), std::move(*marked));
            }
        }
    }
}

std::optional<Overwriting::Marked> Overwriting::bound(const BoundModel& model, NodeId id, std::size_t slot)
{
    const graph::Node& node = model.graph().node(id);
    const TensorType made = model.op(id).outputTypes().front();
    if (model.typeOf(node.inputs[slot]) != made) {
        return std::nullopt;
    }
    Marked marked;
    marked.slot = slot;
    std::vector<BlockOperand> operands;
    for (const ValueId input : node.inputs) {
        const std::optional<BlockOperand> operand = blockOperand(model, input, made);
        if (!operand) {
            return std::nullopt;
        }
        marked.isSplit.push_back(operand->isSplit);
        operands.push_back(*operand);
    }
    marked.whole = boundToBlock(model, id, operands, kBlock);
    marked.rest = boundToBlock(model, id, operands, tensor::elementCount(made.shape) % kBlock);
    return marked.whole && marked.rest ? std::optional(std::move(marked)) : std::nullopt;
}

std::optional<Tensor> Overwriting::run(NodeId node, std::vector<Tensor>& operands) const
{
    const auto at = m_marked.find(node);
    if (at == m_marked.end()) {
        return std::nullopt;
    }
    const Marked& marked = at->second;
    if (!isAlone(marked, operands)) {
        return std::nullopt;
    }
    runInBlocks(marked, operands);
    return std::exchange(operands[marked.slot], Tensor());
}

/// True when nobody else holds the memory of the marked operand, and what goes by blocks beside it lies as it does.
bool Overwriting::isAlone(const Marked& marked, const std::vector<Tensor>& operands)
{
    const Tensor& own = operands[marked.slot];
    if (!own.isDense() || own.storage().use_count() != 1) {
        return false;
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (marked.isSplit[i] && operands[i].strides() != own.strides()) {
            return false;
        }
    }
    return true;
}

std::vector<Tensor> Overwriting::block(const Marked& marked, const std::vector<Tensor>& operands, std::int64_t begin,
                                       std::int64_t count)
{
    std::vector<Tensor> blocks;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        blocks.push_back(marked.isSplit[i] ? blockOf(operands[i], begin, count) : operands[i]);
    }
    return blocks;
}

void Overwriting::runInBlocks(const Marked& marked, const std::vector<Tensor>& operands)
{
    const Tensor& own = operands[marked.slot];
    // Nobody else holds this memory, so nobody sees it change.
    auto* memory = const_cast<tensor::Storage*>(own.storage().get())->data();
    const std::size_t width = tensor::sizeOf(own.dtype());
    for (std::int64_t begin = 0; begin < own.size(); begin += kBlock) {
        const std::int64_t count = std::min(kBlock, own.size() - begin);
        const Operator& op = count == kBlock ? marked.whole : marked.rest;
        const Tensor result = op->run(block(marked, operands, begin, count)).front().contiguous();
        std::memcpy(memory + static_cast<std::size_t>(own.offset() + begin) * width, result.rawData(),
                    static_cast<std::size_t>(count) * width);
    }
}

constexpr std::size_t kProgressCalls = 200;

base::Result<void> checkBoundInput(const graph::Value& input, const Tensor& bound, const Tensor& given)
{
    if (bound.isValid() && !bound.bitEqual(given)) {
        return base::inputError("shapes in this model depend on the data of this input, and the run was prepared for "
                                "other data; prepare it again for this data",
                                fmt::format("input \"{}\"", input.name));
    }
    return {};
}

/// Values of one forward pass while it runs: kept ones go to the store, the others live until their last reader.
class LiveValues
{
public:
    LiveValues(const BoundModel& model, const SavePlan& plan, ValueStore& store, std::span<const ValueId> alsoKept,
               bool storeDecides)
        : m_model(model), m_store(store), m_storeDecides(storeDecides), m_keeps(model.graph().valueCount(), false),
          m_values(model.graph().valueCount()), m_readers(model.graph().valueCount())
    {
        for (std::size_t i = 0; i < m_keeps.size(); ++i) {
            m_keeps[i] = plan.keeps(ValueId(i));
        }
        for (const ValueId value : alsoKept) {
            m_keeps[value.index()] = true;
        }
        for (std::size_t i = 0; i < m_readers.size(); ++i) {
            m_readers[i] = model.graph().uses(ValueId(i)).size();
        }
        for (const ValueId output : model.graph().outputs()) {
            ++m_readers[output.index()]; // the caller reads it at the end
        }
    }

    void put(ValueId value, const Tensor& tensor)
    {
        if (m_keeps[value.index()]) {
            m_store.put(value, tensor);
            if (!m_storeDecides) {
                event::tellDecision(value, event::MemoryChoice::Keep, tensor.bytes(),
                                    "kept for whoever reads it later");
            }
        }
        if (m_readers[value.index()] > 0) {
            m_values[value.index()] = tensor;
        }
    }

    [[nodiscard]] Tensor get(ValueId value) const
    {
        return m_model.isConstant(value) ? m_model.constant(value) : m_values[value.index()];
    }

    /// For one reader: the last one has the value alone.
    [[nodiscard]] Tensor take(ValueId value)
    {
        const bool isLast = !m_model.isConstant(value) && m_readers[value.index()] == 1;
        return isLast ? std::move(m_values[value.index()]) : get(value);
    }

    /// The only node that reads this value, where nobody else wants it; else nothing.
    [[nodiscard]] std::optional<NodeId> onlyReader(ValueId value) const
    {
        const bool isWantedOnce = value.isValid() && m_readers[value.index()] == 1 && !m_keeps[value.index()];
        const auto uses = isWantedOnce ? m_model.graph().uses(value) : std::span<const graph::Use>();
        return uses.size() == 1 ? std::optional(uses.front().node) : std::nullopt;
    }

    void finishReading(ValueId value)
    {
        if (--m_readers[value.index()] == 0) {
            const bool isGone = !m_keeps[value.index()] && !m_model.isConstant(value);
            if (isGone && event::currentObserver() != nullptr) {
                event::tellDecision(value, event::MemoryChoice::Drop, bytesOf(value), "its last reader has run");
            }
            m_values[value.index()] = {};
        }
    }

private:
    /// By type and shape: the last reader may have the tensor already.
    [[nodiscard]] std::int64_t bytesOf(ValueId value) const
    {
        const ops::TensorType& type = m_model.typeOf(value);
        return tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype));
    }

    const BoundModel& m_model;
    ValueStore& m_store;
    bool m_storeDecides;       // what becomes of what it gets, and tells it
    std::vector<bool> m_keeps; // per value: goes to the store
    std::vector<Tensor> m_values;
    std::vector<std::size_t> m_readers; // per value: reads that are still to come
};

void finishOperands(const graph::Node& node, LiveValues& values)
{
    for (const ValueId input : node.inputs) {
        if (input.isValid()) {
            values.finishReading(input);
        }
    }
}

/// Two nodes ran as one: the time stands at the first, the result at the second; what lies between was never whole.
void tellTogether(const BoundModel& model, NodeId first, NodeId second, const Tensor& result,
                  const event::NodeWatch& watch)
{
    watch.done(event::Half::Forward, false, model.op(first).flops(), {});
    if (event::PerformanceObserver* observer = event::currentObserver()) {
        observer->onNodeProcessed(second, {event::Half::Forward, false, 0, model.op(second).flops(), result.bytes()});
    }
}

/// Runs a node together with the only reader of its result, a function of its elements: what is in a cache need not be
/// fetched again. Gives the reader; nothing where the two do not go together, and then nothing was done.
std::optional<NodeId> runWithReader(const BoundModel& model, NodeId id, std::vector<Tensor>& operands,
                                    LiveValues& values, const event::NodeWatch& watch)
{
    const graph::Node& node = model.graph().node(id);
    if (node.outputs.size() != 1) {
        return std::nullopt;
    }
    const std::optional<NodeId> next = values.onlyReader(node.outputs[0]);
    if (!next) {
        return std::nullopt;
    }
    const graph::Node& reader = model.graph().node(*next);
    if (reader.outputs.size() != 1 || reader.inputs.front() != node.outputs[0]) {
        return std::nullopt;
    }
    const Tensor result = model.op(id).runThrough(operands, model.op(*next));
    if (!result.isValid()) {
        return std::nullopt;
    }
    operands.clear();
    tellTogether(model, id, *next, result, watch);
    if (reader.outputs[0].isValid()) {
        values.put(reader.outputs[0], result);
    }
    finishOperands(node, values);
    finishOperands(reader, values);
    return next;
}

/// Runs a node; `overflow` is written to by the first one whose result its type could not hold. What ran together with
/// an earlier node is marked in `isDone`.
base::Result<void> runOne(const BoundModel& model, const Overwriting& overwriting, NodeId id, LiveValues& values,
                          std::optional<OverflowedValue>& overflow, std::vector<bool>& isDone)
{
    if (isDone[id.index()]) {
        return {};
    }
    const graph::Node& node = model.graph().node(id);
    RETRO_TRY(std::vector<Tensor> operands,
              operandsOf(model, id, [&values](ValueId value) { return values.take(value); }));
    const event::NodeWatch watch(id);
    if (const std::optional<NodeId> reader = runWithReader(model, id, operands, values, watch)) {
        isDone[reader->index()] = true;
        return {};
    }
    std::vector<Tensor> results;
    if (std::optional<Tensor> written = overwriting.run(id, operands)) {
        results.push_back(std::move(*written));
    } else {
        ops::Overflow beyond;
        results = model.op(id).runOver(operands, &beyond);
        overflow = overflow ? overflow : overflowOf(model, id, beyond);
    }
    operands.clear();
    watch.done(event::Half::Forward, false, model.op(id).flops(), results);
    for (std::size_t k = 0; k < std::min(results.size(), node.outputs.size()); ++k) {
        if (node.outputs[k].isValid()) {
            values.put(node.outputs[k], results[k]);
        }
    }
    finishOperands(node, values);
    return {};
}

/// Has the model's idle memory for the calling thread, unless that has a pool, or another pass has it.
class IdleMemoryUse
{
public:
    explicit IdleMemoryUse(IdleMemory& memory) : m_lock(memory.mutex, std::try_to_lock)
    {
        if (m_lock.owns_lock() && tensor::StoragePool::current() == nullptr) {
            m_use.emplace(memory.pool);
        }
    }

private:
    std::unique_lock<std::mutex> m_lock;
    std::optional<tensor::StoragePool::Use> m_use;
};

std::shared_ptr<ValueStore> storeFor(const std::shared_ptr<const BoundModel>& model, SavePolicy policy)
{
    if (policy == SavePolicy::Plan) {
        return std::make_shared<RecomputingStore>(model);
    }
    return std::make_shared<MemoryValueStore>(model->graph().valueCount());
}

void report(const Progress& progress, std::size_t done, std::size_t total)
{
    if (progress && (done * kProgressCalls / total != (done - 1) * kProgressCalls / total || done == total)) {
        progress(done, total);
    }
}

base::Result<ForwardResult> run(const std::shared_ptr<const BoundModel>& model, std::span<const Tensor> inputs,
                                std::shared_ptr<const SavePlan> plan, const std::shared_ptr<ValueStore>& store,
                                const std::stop_token& stop, const Progress& progress,
                                std::span<const ValueId> alsoKept, bool storeDecides)
{
    RETRO_CHECK(checkInputs(*model, inputs));
    const graph::Graph& graph = model->graph();
    std::optional<IdleMemoryUse> memory;
    if (plan->policy() == SavePolicy::Nothing) {
        memory.emplace(model->idleMemory());
    }
    const Overwriting overwriting(*model);
    LiveValues values(*model, *plan, *store, alsoKept, storeDecides);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        values.put(graph.inputs()[i], inputs[i]);
    }
    const std::size_t total = graph.nodeCount();
    std::optional<OverflowedValue> overflow;
    std::vector<bool> isDone(total, false);
    for (std::size_t i = 0; i < total; ++i) {
        if (stop.stop_requested()) {
            return base::Error{base::ErrorCode::Cancelled, "stopped during the forward pass",
                               fmt::format("node {} of {}", i, total)};
        }
        RETRO_CHECK(base::caughtAt([&] { return ops::placeOf(graph.node(NodeId(i))); },
                                   [&] { return runOne(*model, overwriting, NodeId(i), values, overflow, isDone); }));
        report(progress, i + 1, total);
    }
    std::vector<Tensor> outputs;
    for (const ValueId output : graph.outputs()) {
        outputs.push_back(values.get(output));
    }
    return ForwardResult{std::move(outputs), SavedValues(model, std::move(plan), store), store, overflow};
}

} // namespace

Tensor ForwardResult::value(ValueId id) const
{
    const std::span<const ValueId> ids = saved.model().graph().outputs();
    const auto at = std::ranges::find(ids, id);
    return at == ids.end() ? saved.anyValue(id) : outputs[static_cast<std::size_t>(at - ids.begin())];
}

base::Result<void> checkInputs(const BoundModel& model, std::span<const Tensor> inputs)
{
    const std::span<const ValueId> ids = model.graph().inputs();
    if (inputs.size() != ids.size()) {
        return base::inputError(fmt::format("the model has {} inputs, but {} were given", ids.size(), inputs.size()),
                                model.graph().name());
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const ops::TensorType& type = model.typeOf(ids[i]);
        if (inputs[i].dtype() != type.dtype || inputs[i].shape() != type.shape) {
            return base::inputError(fmt::format("the run was prepared for {} {}, but the data is {} {}",
                                                tensor::nameOf(type.dtype), tensor::toText(type.shape),
                                                tensor::nameOf(inputs[i].dtype()), tensor::toText(inputs[i].shape())),
                                    fmt::format("input \"{}\"", model.graph().value(ids[i]).name));
        }
        RETRO_CHECK(checkBoundInput(model.graph().value(ids[i]), model.boundInputs()[i], inputs[i]));
    }
    return {};
}

base::Result<ForwardResult> forward(const std::shared_ptr<const BoundModel>& model, std::span<const Tensor> inputs,
                                    SavePolicy policy, std::stop_token stop, const Progress& progress,
                                    std::span<const ValueId> alsoKept)
{
    return forward(model, inputs, std::make_shared<const SavePlan>(*model, policy), std::move(stop), progress,
                   alsoKept);
}

base::Result<ForwardResult> forward(const std::shared_ptr<const BoundModel>& model, std::span<const Tensor> inputs,
                                    std::shared_ptr<const SavePlan> plan, std::stop_token stop,
                                    const Progress& progress, std::span<const ValueId> alsoKept)
{
    const std::shared_ptr<ValueStore> store = storeFor(model, plan->policy());
    return run(model, inputs, std::move(plan), store, stop, progress, alsoKept, false);
}

base::Result<ForwardResult> forwardInto(std::shared_ptr<ValueStore> store,
                                        const std::shared_ptr<const BoundModel>& model, std::span<const Tensor> inputs,
                                        std::span<const ValueId> kept, std::stop_token stop, const Progress& progress)
{
    return run(model, inputs, std::make_shared<const SavePlan>(*model, SavePolicy::Nothing), store, stop, progress,
               kept, true);
}

base::Result<ForwardResult> forwardInto(std::shared_ptr<ValueStore> store,
                                        const std::shared_ptr<const BoundModel>& model, std::span<const Tensor> inputs,
                                        std::shared_ptr<const SavePlan> plan, std::stop_token stop,
                                        const Progress& progress, std::span<const ValueId> alsoKept)
{
    return run(model, inputs, std::move(plan), store, stop, progress, alsoKept, true);
}

} // namespace retro::execute
