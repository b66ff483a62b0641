// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/run.h"

#include "kernels/lut/callchecks.h"
#include "kernels/lut/cpu/documented.h"
#include "kernels/lut/cpu/fused.h"
#include "kernels/lut/cpu/parallel.h"
#include "kernels/lut/cpu/segments.h"

#include <algorithm>
#include <chrono>

namespace retro::lut
{

namespace
{

/// Makes the schedule, and refuses what it shows to be too large.
template <class T>
Status prepare(const Layer<T>& layer, const ScheduleRequest& request, const RunOptions<T>& options, Schedule& schedule)
{
    if (Status status = makeSchedule(request, schedule); !status.ok()) {
        return status;
    }
    const std::uint64_t batch = request.batch;
    if (batch * layer.shape().length >= std::uint64_t{1} << cpu::kItemBits) {
        return {StatusCode::TooLarge,
                "a batch of " + std::to_string(batch) + " has more than 2^40 positions; take a smaller one"};
    }
    return checkScratch(schedule, batch, options.scratchLimit);
}

/// The buffers of a pass that the observer of a launch may see.
class Buffers
{
public:
    void add(BufferId id, const auto& values)
    {
        if (!values.empty()) {
            m_all.push_back({id, values.data(), values.size()});
        }
    }
    template <class T>
    void addLayer(const Layer<T>& layer)
    {
        const LayerDescription<T>& given = layer.description();
        add(BufferId::Anchors, given.anchors);
        add(BufferId::Weights, given.weights);
        add(BufferId::RowStarts, given.rowStarts);
        add(BufferId::Columns, given.columns);
        add(BufferId::PositionalEmbeddings, given.codes);
    }
    /// hasWeakest: the pass wrote the weakest comparisons of the anchors, which are zeros else.
    template <class T>
    void addTape(const Tape<T>& tape, bool hasWeakest = true)
    {
        add(BufferId::LookupIndices, tape.rows);
        if (hasWeakest) {
            add(BufferId::MinAnchorDeltas, tape.deltas);
            add(BufferId::MinAnchorDeltaIndices, tape.bits);
        }
        add(BufferId::PeLookupIndices, tape.codeRows);
        add(BufferId::PeMinDeltas, tape.codeDeltas);
        add(BufferId::PeMinDeltaIndices, tape.codeBits);
        add(BufferId::MainFiringEvents, tape.mainEvents);
        add(BufferId::AlternativeFiringEvents, tape.otherEvents);
    }
    template <class T>
    void addBackward(const BackwardCall<T>& call)
    {
        add(BufferId::OutputGradients, call.outputGradients);
        add(BufferId::InputGradients, call.inputGradients);
        add(BufferId::WeightGradients, call.weightGradients);
        add(BufferId::PeGradients, call.codeGradients);
    }
    [[nodiscard]] std::span<const BufferData> all() const { return m_all; }

private:
    std::vector<BufferData> m_all;
};

/// Carries out all launches with f(launch), and shows each to the observer with what `list` adds to its buffers;
/// `dense` is firing statistics, or gradients before the detectors.
template <class T, class F, class L>
void walk(const Schedule& schedule, const RunOptions<T>& options, const Array<T>& dense, const F& f, const L& list)
{
    const bool hasScores = schedule.find(BufferId::BeforeDetectorsGradients) != nullptr;
    using Clock = std::chrono::steady_clock;
    for (std::size_t i = 0; i < schedule.launches.size(); ++i) {
        const Clock::time_point start = options.observer ? Clock::now() : Clock::time_point();
        f(schedule.launches[i]);
        if (options.observer) {
            const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
            Buffers buffers;
            list(buffers);
            buffers.add(hasScores ? BufferId::BeforeDetectorsGradients : BufferId::FiringStatistics, dense);
            options.observer(
                {schedule, i, seconds, hasScores ? std::span<const T>(dense) : std::span<const T>(), buffers.all()});
        }
    }
}

/// Events get the places that the schedule has for them, and need no more.
template <class E>
void makeRoom(const Schedule& schedule, BufferId id, Array<E>& events)
{
    if (const Buffer* buffer = schedule.find(id)) {
        events.reserve(buffer->bytes / sizeof(E));
    }
}

template <class T>
void forwardDocumented(const Layer<T>& layer, const ForwardCall<T>& call, const RunOptions<T>& options,
                       const Schedule& schedule)
{
    Tape<T> own(options.memory);
    Tape<T>& tape = call.tape != nullptr ? *call.tape : own;
    resizeTape(layer, call.batch, tape);
    cpu::Documented<T> run{layer,
                           cpu::threadCount(options.threads),
                           call.batch,
                           &tape,
                           &tape,
                           call.input,
                           call.output,
                           {},
                           {},
                           {},
                           {},
                           Array<T>(options.memory),
                           Array<FiringEvent>(options.memory),
                           {}};
    makeRoom(schedule, BufferId::FiringEvents, run.firingEvents);
    makeRoom(schedule, BufferId::MainFiringEvents, tape.mainEvents);
    makeRoom(schedule, BufferId::AlternativeFiringEvents, tape.otherEvents);
    std::fill(call.output.begin(), call.output.end(), T(0));
    if (layer.isSparse()) {
        run.groups = cpu::synapseGroups(layer);
    }
    if (layer.shape().isSequence) {
        run.dense.assign(call.batch * layer.shape().length * layer.shape().neurons(), T(0));
    }
    walk(
        schedule, options, run.dense, [&](const Launch& launch) { cpu::launchDocumented(run, launch); },
        [&](Buffers& buffers) {
            buffers.addLayer(layer);
            buffers.addTape(tape);
            buffers.add(BufferId::Input, call.input);
            buffers.add(BufferId::Output, call.output);
            buffers.add(BufferId::FiringEvents, run.firingEvents);
        });
}

template <class T>
void forwardFused(const Layer<T>& layer, const ForwardCall<T>& call, const RunOptions<T>& options,
                  const Schedule& schedule)
{
    Tape<T> own(options.memory);
    cpu::FusedForward<T> run{layer, call, cpu::threadCount(options.threads), call.tape, call.tape != nullptr};
    if (run.tape == nullptr && layer.shape().isSequence) {
        run.tape = &own;
    }
    if (run.tape != nullptr) {
        resizeTape(layer, call.batch, *run.tape);
    }
    walk(
        schedule, options, {}, [&](const Launch& launch) { cpu::launchFused(run, launch); },
        [&](Buffers& buffers) {
            buffers.addLayer(layer);
            buffers.add(BufferId::Input, call.input);
            buffers.add(BufferId::Output, call.output);
            if (run.tape != nullptr) {
                buffers.addTape(*run.tape, run.withWeakest);
            }
        });
}

/// A result, or memory in its place when the caller does not want it.
template <class T>
std::span<T> zeroed(std::span<T> wanted, std::uint64_t size, Array<T>& instead)
{
    if (wanted.empty()) {
        instead.assign(size, T(0));
        return instead;
    }
    std::fill(wanted.begin(), wanted.end(), T(0));
    return wanted;
}

template <class T>
void backwardDocumented(const Layer<T>& layer, const BackwardCall<T>& call, const RunOptions<T>& options,
                        const Schedule& schedule)
{
    const LayerShape& shape = layer.shape();
    Array<T> inputs(options.memory);
    Array<T> weights(options.memory);
    Array<T> codes(options.memory);
    cpu::Documented<T> run{layer,
                           cpu::threadCount(options.threads),
                           call.batch,
                           nullptr,
                           call.tape,
                           {},
                           {},
                           call.outputGradients,
                           zeroed(call.inputGradients, call.batch * shape.length * shape.inputs, inputs),
                           zeroed(call.weightGradients, layer.description().weights.size(), weights),
                           zeroed(call.codeGradients, layer.description().codes.size(), codes),
                           Array<T>(options.memory),
                           Array<FiringEvent>(options.memory),
                           {}};
    makeRoom(schedule, BufferId::FiringEvents, run.firingEvents);
    if (layer.isSparse()) {
        run.groups = cpu::synapseGroups(layer);
    }
    run.dense.assign(call.batch * shape.length * shape.neurons(), T(0));
    walk(
        schedule, options, run.dense, [&](const Launch& launch) { cpu::launchDocumented(run, launch); },
        [&](Buffers& buffers) {
            buffers.addLayer(layer);
            buffers.addTape(*call.tape);
            buffers.addBackward(call);
            buffers.add(BufferId::FiringEvents, run.firingEvents);
        });
}

template <class T>
void backwardFused(const Layer<T>& layer, const BackwardCall<T>& call, const RunOptions<T>& options,
                   const Schedule& schedule)
{
    const LayerShape& shape = layer.shape();
    cpu::FusedBackward<T> run{layer, call, cpu::threadCount(options.threads), Array<T>(options.memory),
                              Array<T>(options.memory)};
    if (shape.isSequence) {
        run.positionScores.resize(call.batch * shape.length * shape.tables);
        run.positionalScores.resize(call.batch * shape.lags() * shape.tables);
    }
    walk(
        schedule, options, {}, [&](const Launch& launch) { cpu::launchFused(run, launch); },
        [&](Buffers& buffers) {
            buffers.addLayer(layer);
            buffers.addTape(*call.tape);
            buffers.addBackward(call);
            buffers.add(BufferId::PositionScores, run.positionScores);
            buffers.add(BufferId::PositionalScores, run.positionalScores);
        });
}

} // namespace

Status checkSize(const char* name, std::size_t has, std::uint64_t needs)
{
    if (has == needs) {
        return {};
    }
    return {StatusCode::BadSize, std::string(name) + " has " + std::to_string(has) +
                                     " elements where layer and batch need " + std::to_string(needs)};
}

Status checkScratch(const Schedule& schedule, std::uint64_t batch, std::uint64_t limit)
{
    if (schedule.path == Path::Fused) {
        return {};
    }
    if (batch >= std::uint64_t{1} << 32) {
        return {StatusCode::TooLarge, "events of the documented path count samples in 32 bits; take a smaller batch"};
    }
    const std::uint64_t needed = schedule.scratchBytes();
    if (needed > limit) {
        return {StatusCode::TooLarge, "the documented path needs " + std::to_string(needed) +
                                          " bytes of dense scratch buffers and events, beyond the limit of " +
                                          std::to_string(limit) +
                                          "; take the fused path, a smaller batch, or a higher limit"};
    }
    return {};
}

Status firstBad(std::initializer_list<Status> all)
{
    for (const Status& status : all) {
        if (!status.ok()) {
            return status;
        }
    }
    return {};
}

template <class T>
Status forward(const Layer<T>& layer, const ForwardCall<T>& call, const RunOptions<T>& options)
{
    Schedule schedule;
    const ScheduleRequest request = requestOf(layer, call.batch, options.path, Pass::Forward);
    if (Status status = prepare(layer, request, options, schedule); !status.ok()) {
        return status;
    }
    if (Status status = checkForward(layer, call); !status.ok()) {
        return status;
    }
    const WideLayer<T> wide(layer);
    if (options.path == Path::Documented) {
        forwardDocumented(wide.layer(), call, options, schedule);
    } else {
        forwardFused(wide.layer(), call, options, schedule);
    }
    return {};
}

template <class T>
Status backward(const Layer<T>& layer, const BackwardCall<T>& call, const RunOptions<T>& options)
{
    Schedule schedule;
    ScheduleRequest request = requestOf(layer, call.batch, options.path, Pass::Backward);
    request.changesWeights = !call.step.weights.empty();
    if (Status status = prepare(layer, request, options, schedule); !status.ok()) {
        return status;
    }
    if (Status status = checkBackward(layer, call, options.path); !status.ok()) {
        return status;
    }
    const WideLayer<T> wide(layer);
    if (options.path == Path::Documented) {
        backwardDocumented(wide.layer(), call, options, schedule);
    } else {
        backwardFused(wide.layer(), call, options, schedule);
    }
    return {};
}

template Status forward(const Layer<float>&, const ForwardCall<float>&, const RunOptions<float>&);
template Status forward(const Layer<double>&, const ForwardCall<double>&, const RunOptions<double>&);
template Status backward(const Layer<float>&, const BackwardCall<float>&, const RunOptions<float>&);
template Status backward(const Layer<double>&, const BackwardCall<double>&, const RunOptions<double>&);

} // namespace retro::lut
