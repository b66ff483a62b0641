// SPDX-License-Identifier: Apache-2.0
#include "core/execute/forward.h"

#include "core/event/observer.h"
#include "core/execute/overwriting.h"
#include "core/execute/recomputingstore.h"
#include "core/execute/runnode.h"
#include "core/ops/runoperator.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>

namespace retro::execute
{

namespace
{

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

namespace
{

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
