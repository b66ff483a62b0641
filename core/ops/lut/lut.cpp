// SPDX-License-Identifier: Apache-2.0
#include "core/ops/lut/lut.h"

#include "core/base/failure.h"
#include "core/base/memoryaccount.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/lut/lutbuffers.h"
#include "core/ops/lut/lutlayer.h"
#include "core/ops/lut/lutondevice.h"
#include "core/ops/threads.h"
#include "kernels/lut/run.h"
#include "kernels/lut/traffic.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

namespace retro::ops
{

using tensor::DType;
using tensor::Shape;

namespace
{

/// Nothing was computed where a kernel refuses what it was given.
void expectOk(const lut::Status& status)
{
    if (!status.ok()) {
        throw base::Failure(base::engineError(status.message));
    }
}

/// Memory of the arrays that passes have for themselves.
class Workspace final : public lut::Memory
{
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        void* const block = std::pmr::new_delete_resource()->allocate(bytes, alignment);
        base::MemoryAccount::tensors().add(static_cast<std::int64_t>(bytes));
        base::MemoryAccount::workspace().add(static_cast<std::int64_t>(bytes));
        return block;
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        base::MemoryAccount::tensors().remove(static_cast<std::int64_t>(bytes));
        base::MemoryAccount::workspace().remove(static_cast<std::int64_t>(bytes));
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    [[nodiscard]] bool do_is_equal(const lut::Memory& other) const noexcept override { return this == &other; }
};

lut::Memory* ownMemory()
{
    static Workspace memory;
    return &memory;
}

/// Operands of one call, row-major, with the layer that borrows them.
template <class T>
class Call
{
public:
    Call(const LutStructure& structure, std::span<const Tensor> operands, std::uint64_t batch, LutOnDevice* device)
        : m_input(operands[TableLookup::kInput].contiguous()), m_weights(operands[TableLookup::kWeights].contiguous()),
          m_codes(operands.size() > TableLookup::kCodes && operands[TableLookup::kCodes].isValid()
                      ? operands[TableLookup::kCodes].contiguous()
                      : Tensor()),
          m_batch(batch), m_path(structure.path), m_device(device)
    {
        const auto description = descriptionOf<T>(structure, m_weights.span<T>(),
                                                  m_codes.isValid() ? m_codes.span<T>() : std::span<const T>());
        const lut::Status status = lut::Layer<T>::create(description, m_layer);
        expectOk(status); // checked when the node was bound
        if (LaunchWatcher* watcher = currentLaunchWatcher()) {
            m_taker.emplace(*watcher, device != nullptr ? lut::Backend::Cuda : lut::Backend::Cpu);
            m_taker->know(lut::BufferId::Input, m_input);
            m_taker->know(lut::BufferId::Weights, m_weights);
            m_taker->know(lut::BufferId::PositionalEmbeddings, m_codes);
        }
    }

    [[nodiscard]] const lut::Layer<T>& layer() const { return *m_layer; }
    [[nodiscard]] std::span<const T> input() const { return m_input.span<T>(); }
    [[nodiscard]] std::uint64_t outputSize() const
    {
        return m_batch * m_layer->shape().length * m_layer->shape().outputs;
    }

    /// The buffers of a pass after a launch; on the CPU, which gives the bits of a device on the documented path.
    [[nodiscard]] std::vector<TableBuffer> buffersAfter(std::span<const T> gradients, lut::Pass pass,
                                                        std::size_t launch) const
    {
        std::vector<TableBuffer> found;
        lut::RunOptions<T> options;
        options.threads = threads();
        options.path = m_path;
        const auto observer = [&](const lut::LaunchView<T>& view) {
            if (view.launch == launch) {
                found = tableBuffers(view);
            }
        };
        std::vector<T> output(outputSize());
        lut::Tape<T> kept;
        options.observer = pass == lut::Pass::Forward ? observer : decltype(options.observer)();
        expectOk(lut::forward(*m_layer, {m_batch, input(), output, &kept}, options));
        if (pass == lut::Pass::Backward) {
            const lut::LayerShape& shape = m_layer->shape();
            std::vector<T> inputs(m_batch * shape.length * shape.inputs);
            std::vector<T> codes(m_codes.isValid() ? m_codes.span<T>().size() : 0);
            std::vector<T> weights(m_path == lut::Path::Documented ? m_layer->description().weightCount() : 0);
            options.observer = observer;
            expectOk(lut::backward(*m_layer, {m_batch, &kept, gradients, inputs, weights, codes}, options));
        }
        return found;
    }

    void forward(std::span<T> output, lut::Tape<T>* tape) const
    {
        if constexpr (std::is_same_v<T, float>) {
            if (m_device != nullptr) {
                std::vector<double> seconds;
                m_device->forward(m_input, m_weights, m_codes, output, tape, m_taker ? &seconds : nullptr);
                const lut::BufferData made{lut::BufferId::Output, output.data(), output.size()};
                tellDevice(lut::Pass::Forward, seconds, {made}, tape);
                return;
            }
        }
        lut::ForwardCall<T> call;
        call.batch = m_batch;
        call.input = input();
        call.output = output;
        call.tape = tape;
        expectOk(lut::forward(*m_layer, call, options()));
    }

    /// The tape of a forward pass whose result nobody wants.
    [[nodiscard]] lut::Tape<T> tape() const
    {
        lut::Tape<T> tape(ownMemory());
        lut::Array<T> output(outputSize(), ownMemory());
        forward(output, &tape);
        return tape;
    }

    void backward(std::span<const T> gradients, std::size_t slot, std::span<T> result) const
    {
        const lut::Tape<T> kept = tape();
        lut::BackwardCall<T> call;
        call.batch = m_batch;
        call.tape = &kept;
        call.outputGradients = gradients;
        (slot == TableLookup::kInput     ? call.inputGradients
         : slot == TableLookup::kWeights ? call.weightGradients
                                         : call.codeGradients) = result;
        if constexpr (std::is_same_v<T, float>) {
            if (m_device != nullptr) {
                backwardOnDevice(call, slot, result);
                return;
            }
        }
        expectOk(lut::backward(*m_layer, call, options()));
    }

    void relevance(const lut::RelevanceCall<T>& call) const
    {
        if constexpr (std::is_same_v<T, float>) {
            if (m_device != nullptr) {
                m_device->relevance(m_weights, m_codes, call);
                return;
            }
        }
        expectOk(lut::relevance(*m_layer, call, threads()));
    }

    [[nodiscard]] bool isWatched() const { return m_taker.has_value(); }

    /// Tells whoever watches of launches whose buffers are known at the end of the pass alone: the last that writes one
    /// has it. `made` are those that are there then; launches behind `seconds` were not measured by themselves.
    void tell(lut::Pass pass, const std::vector<double>& seconds, std::vector<lut::BufferData> made) const
    {
        if (!m_taker) {
            return;
        }
        lut::Schedule schedule;
        expectOk(lut::makeSchedule(lut::requestOf(*m_layer, m_batch, m_path, pass), schedule));
        for (const auto& [id, tensor] :
             {std::pair(lut::BufferId::Input, &m_input), std::pair(lut::BufferId::Weights, &m_weights),
              std::pair(lut::BufferId::PositionalEmbeddings, &m_codes)}) {
            if (tensor->isValid()) {
                made.push_back({id, tensor->rawData(), static_cast<std::uint64_t>(tensor->size())});
            }
        }
        for (std::size_t i = 0; i < schedule.launches.size(); ++i) {
            const auto isLater = [&](const lut::BufferData& one) {
                return std::any_of(schedule.launches.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                   schedule.launches.end(), [&one](const lut::Launch& launch) {
                                       return std::ranges::find(launch.writes, one.id) != launch.writes.end();
                                   });
            };
            std::vector<lut::BufferData> there;
            std::ranges::copy_if(made, std::back_inserter(there), std::not_fn(isLater));
            const bool isMeasured = i < seconds.size();
            m_taker->take({schedule, i, isMeasured ? seconds[i] : 0, {}, there},
                          isMeasured ? std::optional(seconds[i]) : std::nullopt, false);
        }
    }

private:
    [[nodiscard]] lut::RunOptions<T> options() const
    {
        lut::RunOptions<T> options;
        options.threads = threads();
        options.path = m_path;
        options.memory = ownMemory();
        if (m_taker) {
            options.observer = [this](const lut::LaunchView<T>& view) {
                m_taker->take(view, view.seconds, view.schedule.path == lut::Path::Fused);
            };
        }
        return options;
    }

    void backwardOnDevice(const lut::BackwardCall<T>& call, std::size_t slot, std::span<T> result) const
    {
        std::vector<double> seconds;
        m_device->backward(m_weights, m_codes, call, m_taker ? &seconds : nullptr);
        const lut::BufferId id = slot == TableLookup::kInput     ? lut::BufferId::InputGradients
                                 : slot == TableLookup::kWeights ? lut::BufferId::WeightGradients
                                                                 : lut::BufferId::PeGradients;
        const std::span<const T> gradients = call.outputGradients;
        const lut::BufferData given{lut::BufferId::OutputGradients, gradients.data(), gradients.size()};
        tellDevice(lut::Pass::Backward, seconds, {given, {id, result.data(), result.size()}}, nullptr);
    }

    void tellDevice(lut::Pass pass, const std::vector<double>& seconds, std::vector<lut::BufferData> made,
                    const lut::Tape<T>* tape) const
    {
        if (tape != nullptr) {
            const auto add = [&made](lut::BufferId id, const auto& values) {
                if (!values.empty()) {
                    made.push_back({id, values.data(), values.size()});
                }
            };
            add(lut::BufferId::LookupIndices, tape->rows);
            add(lut::BufferId::MinAnchorDeltas, tape->deltas);
            add(lut::BufferId::MinAnchorDeltaIndices, tape->bits);
            add(lut::BufferId::PeLookupIndices, tape->codeRows);
            add(lut::BufferId::PeMinDeltas, tape->codeDeltas);
            add(lut::BufferId::PeMinDeltaIndices, tape->codeBits);
        }
        tell(pass, seconds, std::move(made));
    }

    Tensor m_input;
    Tensor m_weights;
    Tensor m_codes;
    std::uint64_t m_batch;
    lut::Path m_path;
    LutOnDevice* m_device; ///< none: on the CPU
    std::optional<lut::Layer<T>> m_layer;
    mutable std::optional<LaunchTaker<T>> m_taker; ///< where somebody watches; knows what earlier launches wrote
};

Shape shapeOf(std::initializer_list<std::uint64_t> extents)
{
    Shape shape;
    for (const std::uint64_t extent : extents) {
        shape.push_back(static_cast<std::int64_t>(extent));
    }
    return shape;
}

template <class T>
Tensor tensorOf(Shape shape, const lut::Array<T>& values)
{
    return Tensor::of<T>(std::move(shape), values);
}

/// A buffer that is filled as a span of T, once it is known to be wanted.
template <class T>
std::span<T> spanOf(tensor::TensorBuffer& buffer)
{
    buffer.clear();
    return buffer.span<T>();
}

std::uint64_t largestGroups(const LutStructure& layer)
{
    std::uint64_t most = 0;
    for (std::size_t n = 0; n + 1 < layer.rowStarts.size(); ++n) {
        most = std::max<std::uint64_t>(
            most, lut::ceilDivide(layer.rowStarts[n + 1] - layer.rowStarts[n], layer.forwardGroup));
    }
    return most;
}

/// The launches of a relevance pass, for whoever watches.
template <class T>
void tellRelevance(const Call<T>& call, const lut::RelevanceCall<T>& request, const std::vector<double>& seconds)
{
    if (!call.isWatched()) {
        return;
    }
    std::vector<lut::BufferData> made;
    const auto add = [&made](lut::BufferId id, std::span<const T> values) {
        if (!values.empty()) {
            made.push_back({id, values.data(), values.size()});
        }
    };
    add(lut::BufferId::OutputRelevance, request.outputRelevance);
    add(lut::BufferId::InputRelevance, request.inputRelevance);
    add(lut::BufferId::PeRelevance, request.codeRelevance);
    add(lut::BufferId::TableRelevance, request.tableRelevance);
    add(lut::BufferId::PairMap, request.pairMap);
    call.tell(lut::Pass::Relevance, seconds, std::move(made));
}

template <class T>
TableRelevance relevanceOf(const Call<T>& call, std::uint64_t batch, const Tensor& s, lut::RelevanceCall<T> request,
                           const LutOperands& operands, bool wantsDetail)
{
    const lut::LayerShape& shape = call.layer().shape();
    const Tensor perUnit = s.contiguous();
    const std::vector<T> ones(call.outputSize(), T(1)); // s is divided already
    const DType type = s.dtype();
    const bool hasCodes = !operands.codes.empty();
    const bool hasPairs = wantsDetail && shape.isSequence;
    tensor::TensorBuffer input(type, operands.input.shape);
    tensor::TensorBuffer codes(type, hasCodes ? operands.codes : Shape{0});
    tensor::TensorBuffer tables(type, wantsDetail ? shapeOf({batch, shape.tables}) : Shape{0});
    tensor::TensorBuffer bits(type, wantsDetail ? shapeOf({batch, shape.tables, shape.rowBits()}) : Shape{0});
    tensor::TensorBuffer pairs(type, hasPairs ? shapeOf({batch, shape.length, shape.length}) : Shape{0});
    std::vector<T> unplaced(batch);
    request.batch = batch;
    request.input = call.input();
    request.output = ones;
    request.outputRelevance = perUnit.span<T>();
    request.epsilon = 0;
    request.inputRelevance = spanOf<T>(input);
    request.codeRelevance = spanOf<T>(codes);
    request.tableRelevance = spanOf<T>(tables);
    request.bitRelevance = spanOf<T>(bits);
    request.pairMap = spanOf<T>(pairs);
    request.unplaced = unplaced;
    std::vector<double> seconds; // of each launch; on a device of all of them, which stands at the first
    request.seconds = call.isWatched() ? &seconds : nullptr;
    const auto start = std::chrono::steady_clock::now();
    call.relevance(request);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (seconds.empty()) {
        seconds.push_back(taken.count());
    }
    tellRelevance(call, request, seconds);
    TableRelevance result;
    result.input = std::move(input).freeze();
    result.codes = hasCodes ? std::move(codes).freeze() : Tensor();
    result.tables = wantsDetail ? std::move(tables).freeze() : Tensor();
    result.comparisons = wantsDetail ? std::move(bits).freeze() : Tensor();
    result.pairs = hasPairs ? std::move(pairs).freeze() : Tensor();
    for (const T amount : unplaced) {
        result.unplaced += static_cast<double>(amount);
    }
    return result;
}

} // namespace

LutOperator::LutOperator(TensorType output, LutStructure structure, LutOperands operands)
    : Operator(std::move(output)), m_layer(std::move(structure)), m_operands(std::move(operands)), m_batch(1),
      m_maxForwardGroups(largestGroups(m_layer))
{
    const std::size_t own = m_layer.shape.isSequence ? 2 : 1;
    for (std::size_t i = 0; i + own < m_operands.input.shape.size(); ++i) {
        m_batch *= static_cast<std::uint64_t>(m_operands.input.shape[i]);
    }
    const bool isOnDevice = m_layer.backend == lut::Backend::Cuda && m_operands.input.dtype == DType::Float32;
    if (isOnDevice && lut::availability(lut::Backend::Cuda).ok()) {
        m_device = std::make_unique<LutOnDevice>(m_layer, m_batch);
    }
}

LutOperator::~LutOperator() = default;

std::vector<Tensor> LutOperator::forward(std::span<const Tensor> operands) const
{
    return {filled(m_operands.input.dtype, m_outputTypes[0].shape, [&](auto* y) {
        using T = std::decay_t<decltype(*y)>;
        const Call<T> call(m_layer, operands, m_batch, m_device.get());
        call.forward({y, call.outputSize()}, nullptr);
    })};
}

Reads LutOperator::savedForGradient() const
{
    return {Reads::bit(kInput) | Reads::bit(kWeights) | (m_operands.codes.empty() ? 0 : Reads::bit(kCodes)), 0};
}

Tensor LutOperator::pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                             std::size_t slot) const
{
    const Shape shape = slot == kInput     ? m_operands.input.shape
                        : slot == kWeights ? m_operands.weights
                                           : m_operands.codes;
    const Tensor gradient = s[0].contiguous();
    return accumulated(gradient.dtype(), shape, [&](auto* result) {
        using T = std::decay_t<decltype(*result)>;
        const auto size = static_cast<std::size_t>(tensor::elementCount(shape));
        Call<T>(m_layer, operands, m_batch, m_device.get()).backward(gradient.span<T>(), slot, {result, size});
    });
}

lut::Schedule LutOperator::launchesOf(lut::Pass pass) const
{
    lut::Schedule launches;
    expectOk(lut::makeSchedule(schedule(m_layer.path, pass), launches)); // checked when the node was bound
    return launches;
}

std::uint64_t LutOperator::workspace(Work work, std::size_t slot) const
{
    using enum lut::Role;
    const bool isDocumented = m_layer.path == lut::Path::Documented;
    const lut::Schedule there = launchesOf(lut::Pass::Forward);
    const std::uint64_t kept = bytesHeld(there, Kept);
    const std::uint64_t scratch = bytesHeld(there, Scratch);
    if (work == Work::Forward) {
        return isDocumented || m_layer.shape.isSequence ? kept + scratch : 0;
    }
    if (work == Work::Relevance) {
        return kept + std::max(scratch, bytesHeld(launchesOf(lut::Pass::Relevance), Scratch));
    }
    const lut::Schedule back = launchesOf(lut::Pass::Backward);
    const lut::Buffer* wanted = back.find(slot == kInput     ? lut::BufferId::InputGradients
                                          : slot == kWeights ? lut::BufferId::WeightGradients
                                                             : lut::BufferId::PeGradients);
    const std::uint64_t thrownAway = isDocumented ? bytesHeld(back, Result) - wanted->bytes : 0;
    return kept + std::max(scratch + bytesHeld(there, Result), bytesHeld(back, Scratch) + thrownAway);
}

double LutOperator::traffic() const
{
    const lut::Schedule launches = launchesOf(lut::Pass::Forward);
    double moved = 0;
    for (const lut::Launch& launch : launches.launches) {
        moved += static_cast<double>(lut::bytesMoved(launches, launch));
    }
    return moved - static_cast<double>(bytesHeld(launches, lut::Role::Given) + bytesHeld(launches, lut::Role::Result));
}

double LutOperator::flops() const
{
    const lut::LayerShape& shape = m_layer.shape;
    const double length = shape.length;
    const double rows = shape.isSequence ? length * (length - 1) / 2 : 1;
    const double perRow = m_layer.isSparse ? static_cast<double>(m_layer.columns.size()) /
                                                 static_cast<double>(std::max<std::uint64_t>(shape.neurons(), 1))
                                           : static_cast<double>(shape.outputs);
    const lut::Schedule launches = launchesOf(lut::Pass::Forward);
    const lut::Buffer* statistics = launches.find(lut::BufferId::FiringStatistics); // each is looked at
    const std::uint64_t looks =
        statistics != nullptr ? statistics->bytes / schedule(m_layer.path, lut::Pass::Forward).realBytes : 0;
    return static_cast<double>(m_batch) * shape.tables * (length * shape.comparisons + rows * perRow) +
           static_cast<double>(looks);
}

TableRelevance LutOperator::distribute(const Divide& divide, std::span<const Tensor> operands, lut::TableRule rule,
                                       bool wantsDetail) const
{
    return visitFloat(m_operands.input.dtype, [&](auto zero) {
        using T = decltype(zero);
        lut::RelevanceCall<T> request;
        request.rule = rule;
        request.memory = ownMemory();
        const Call<T> call(m_layer, operands, m_batch, m_device.get());
        lut::Tape<T> tape(ownMemory());
        tensor::TensorBuffer y(m_operands.input.dtype, m_outputTypes[0].shape);
        call.forward(y.span<T>(), &tape);
        request.tape = &tape;
        return relevanceOf(call, m_batch, divide(std::move(y).freeze()), request, m_operands,
                           wantsDetail || call.isWatched());
    });
}

TableChoices LutOperator::choices(std::span<const Tensor> operands) const
{
    const lut::LayerShape& shape = m_layer.shape;
    return visitFloat(m_operands.input.dtype, [&](auto zero) {
        using T = decltype(zero);
        const lut::Tape<T> tape = Call<T>(m_layer, operands, m_batch, m_device.get()).tape();
        const Shape sites = shapeOf({m_batch, shape.length, shape.tables});
        TableChoices result{
            tensorOf(sites, tape.rows), tensorOf(sites, tape.deltas), tensorOf(sites, tape.bits), {}, {}, {}};
        if (shape.isSequence) {
            const Shape places = shapeOf({shape.lags(), shape.tables});
            result.codeRows = tensorOf(places, tape.codeRows);
            result.codeDeltas = tensorOf(places, tape.codeDeltas);
            result.codeBits = tensorOf(places, tape.codeBits);
        }
        return result;
    });
}

std::vector<TableBuffer> LutOperator::buffersAfter(std::span<const Tensor> operands, const Tensor& gradients,
                                                   lut::Pass pass, std::size_t launch) const
{
    return visitFloat(m_operands.input.dtype, [&](auto zero) {
        using T = decltype(zero);
        const Tensor given = gradients.isValid() ? gradients.contiguous() : Tensor();
        return Call<T>(m_layer, operands, m_batch, nullptr)
            .buffersAfter(given.isValid() ? given.span<T>() : std::span<const T>(), pass, launch);
    });
}

lut::ScheduleRequest LutOperator::schedule(lut::Path path, lut::Pass pass) const
{
    lut::ScheduleRequest request;
    request.shape = m_layer.shape;
    request.isSparse = m_layer.isSparse;
    request.synapses = m_layer.columns.size();
    request.maxForwardGroups = m_maxForwardGroups;
    request.forwardGroup = m_layer.forwardGroup;
    request.backwardGroup = m_layer.backwardGroup;
    request.batch = m_batch;
    request.realBytes = m_operands.input.dtype == DType::Float64 ? 8 : 4;
    request.path = path;
    request.pass = pass;
    return request;
}

} // namespace retro::ops
