// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/cuda.h"

#ifdef RETRO_LUT_CUDA

#include "kernels/lut/callchecks.h"
#include "kernels/lut/cpu/documented.h"
#include "kernels/lut/device/hostside.h"

namespace retro::lut
{

namespace
{

Status deviceStatus(std::string problem)
{
    return problem.empty() ? Status{} : Status{StatusCode::Device, std::move(problem)};
}

/// What both passes launch, checked against the limit.
struct Launches
{
    Schedule forward;
    Schedule backward;

    Status make(const Layer<float>& layer, std::uint64_t batch, const CudaOptions& options)
    {
        const auto check = [&](Pass pass, Schedule& schedule) {
            const Status status = makeSchedule(requestOf(layer, batch, options.path, pass), schedule);
            return status.ok() ? checkScratch(schedule, batch, options.scratchLimit) : status;
        };
        return firstBad({check(Pass::Forward, forward), check(Pass::Backward, backward)});
    }
};

} // namespace

struct CudaLayer::State
{
    Layer<float> layer;
    std::uint64_t batch = 0;
    CudaOptions options;
    std::size_t forwardSteps = 0;
    std::size_t backwardSteps = 0;
    std::unique_ptr<device::CudaPasses> passes;

    [[nodiscard]] bool hasEvents() const { return options.path == Path::Documented && layer.shape().isSequence; }

    /// The call's own checks, and that it is for this batch.
    [[nodiscard]] Status check(std::uint64_t wanted, Status sizes) const
    {
        if (wanted != batch) {
            return {StatusCode::BadSize, "the layer on the device was made for a batch of " + std::to_string(batch) +
                                             ", not " + std::to_string(wanted)};
        }
        return sizes;
    }

    Status upload(const Launches& launches)
    {
        const LayerDescription<float>& given = layer.description();
        const std::vector<device::Step> forward = device::stepsOf(launches.forward);
        const std::vector<device::Step> backward = device::stepsOf(launches.backward);
        forwardSteps = forward.size();
        backwardSteps = backward.size();
        cpu::SynapseGroups groups;
        if (given.isSparse && options.path == Path::Documented) {
            groups = cpu::synapseGroups(layer);
        }
        device::HostLayer host;
        host.layer = device::deviceLayerOf(layer);
        const device::UsesOfInputs inputs = device::usesOfInputs(layer);
        host.inputs = {inputs.starts.data(), inputs.uses.data()};
        host.uses = inputs.uses.size();
        host.rowType = given.rowType;
        host.narrowWeights = given.narrowWeights.data();
        host.weights = given.weightCount();
        host.neurons = given.shape.neurons();
        host.codes = given.codes.size();
        host.batch = batch;
        host.isDocumented = options.path == Path::Documented;
        host.documented.groups = groups.all.data();
        host.documented.firstGroup = groups.first.data();
        host.documented.maxForwardGroups = layer.maxForwardGroups();
        host.documented.forwardGroup = given.forwardGroup;
        host.documented.backwardGroup = given.backwardGroup;
        host.groups = groups.all.size();
        host.forward = {forward.data(), forward.size()};
        host.backward = {backward.data(), backward.size()};
        return deviceStatus(device::CudaPasses::make(host, passes));
    }
};

CudaLayer::CudaLayer(std::unique_ptr<State> state) : m_state(std::move(state)) {}

CudaLayer::~CudaLayer() = default;

Status CudaLayer::create(const Layer<float>& layer, std::uint64_t batch, std::unique_ptr<CudaLayer>& made,
                         const CudaOptions& options)
{
    if (Status status = availability(Backend::Cuda); !status.ok()) {
        return status;
    }
    Launches launches;
    if (Status status = launches.make(layer, batch, options); !status.ok()) {
        return status;
    }
    auto state = std::make_unique<State>(State{layer, batch, options, 0, 0, nullptr});
    if (Status status = state->upload(launches); !status.ok()) {
        return status;
    }
    made.reset(new CudaLayer(std::move(state)));
    return {};
}

Status CudaLayer::forward(const ForwardCall<float>& call)
{
    if (Status status = m_state->check(call.batch, checkForward(m_state->layer, call)); !status.ok()) {
        return status;
    }
    device::HostTape to;
    device::PlacedEvents events;
    if (call.tape != nullptr) {
        resizeTape(m_state->layer, call.batch, *call.tape);
        Tape<float>& tape = *call.tape;
        to = {tape.rows.data(),     tape.deltas.data(),     tape.bits.data(),
              tape.codeRows.data(), tape.codeDeltas.data(), tape.codeBits.data()};
        if (m_state->hasEvents()) {
            events = device::eventPlacesOf(m_state->layer.shape(), call.batch);
            to.mainEvents = events.main.data();
            to.otherEvents = events.other.data();
        }
    }
    const Status status = deviceStatus(m_state->passes->forward(call.input.data(), call.output.data(), to));
    if (status.ok() && call.tape != nullptr && m_state->hasEvents()) {
        device::takeEvents(events, *call.tape);
    }
    return status;
}

Status CudaLayer::backward(const BackwardCall<float>& call)
{
    if (!call.step.weights.empty()) {
        return {StatusCode::Unavailable,
                "a layer on a device has weights of its own there, which no step changes; take "
                "their gradients"};
    }
    if (Status status = m_state->check(call.batch, checkBackward(m_state->layer, call, m_state->options.path));
        !status.ok()) {
        return status;
    }
    const Tape<float>& tape = *call.tape;
    device::GivenTape from{tape.rows.data(),     tape.deltas.data(),     tape.bits.data(),
                           tape.codeRows.data(), tape.codeDeltas.data(), tape.codeBits.data()};
    device::PlacedEvents events;
    if (m_state->hasEvents()) {
        if (Status status = device::placeEvents(m_state->layer.shape(), tape, events); !status.ok()) {
            return status;
        }
        from.mainEvents = events.main.data();
        from.otherEvents = events.other.data();
    }
    const device::HostGradients to{call.inputGradients.data(), call.weightGradients.data(), call.codeGradients.data()};
    return deviceStatus(m_state->passes->backward(call.outputGradients.data(), from, to));
}

Status CudaLayer::relevance(const RelevanceCall<float>& call)
{
    if (Status status = m_state->check(call.batch, checkRelevance(m_state->layer, call)); !status.ok()) {
        return status;
    }
    const auto placeOf = [](std::span<float> results) { return results.empty() ? nullptr : results.data(); };
    const Tape<float>& tape = *call.tape;
    const std::vector<double> shapley = device::shapleyWeights();
    device::HostRelevance host;
    host.rule = call.rule;
    host.epsilon = call.epsilon;
    host.input = call.input.data();
    host.output = call.output.data();
    host.outputRelevance = call.outputRelevance.data();
    host.tape = {tape.rows.data(),     tape.deltas.data(),     tape.bits.data(),
                 tape.codeRows.data(), tape.codeDeltas.data(), tape.codeBits.data()};
    host.shapley = shapley.data();
    host.shapleyCount = shapley.size();
    host.inputs = placeOf(call.inputRelevance);
    host.codes = placeOf(call.codeRelevance);
    host.tables = placeOf(call.tableRelevance);
    host.bits = placeOf(call.bitRelevance);
    host.pairMap = placeOf(call.pairMap);
    host.unplaced = placeOf(call.unplaced);
    return deviceStatus(m_state->passes->relevance(host));
}

Status CudaLayer::time(Pass pass, int runs, std::vector<double>& seconds)
{
    const bool isBackward = pass == Pass::Backward;
    seconds.assign(isBackward ? m_state->backwardSteps : m_state->forwardSteps, 0);
    return deviceStatus(m_state->passes->time(isBackward, runs, seconds.data()));
}

Status measureDevice(CudaDevice& device)
{
    constexpr std::uint64_t kBytes = std::uint64_t{256} << 20;
    constexpr int kRuns = 30;
    if (Status status = availability(Backend::Cuda); !status.ok()) {
        return status;
    }
    double seconds = 0;
    if (Status status = deviceStatus(device::timeCopy(kBytes, kRuns, seconds)); !status.ok()) {
        return status;
    }
    device = {device::deviceName(), 2 * static_cast<double>(kBytes) / seconds};
    return {};
}

Status availability(Backend backend)
{
    if (backend == Backend::Cpu) {
        return {};
    }
    const std::string problem = device::deviceProblem();
    return problem.empty() ? Status{} : Status{StatusCode::Unavailable, problem};
}

} // namespace retro::lut

#else

namespace retro::lut
{

struct CudaLayer::State
{};

CudaLayer::CudaLayer(std::unique_ptr<State> state) : m_state(std::move(state)) {}

CudaLayer::~CudaLayer() = default;

Status CudaLayer::create(const Layer<float>&, std::uint64_t, std::unique_ptr<CudaLayer>&, const CudaOptions&)
{
    return availability(Backend::Cuda);
}

Status CudaLayer::forward(const ForwardCall<float>&) { return availability(Backend::Cuda); }

Status CudaLayer::backward(const BackwardCall<float>&) { return availability(Backend::Cuda); }

Status CudaLayer::relevance(const RelevanceCall<float>&) { return availability(Backend::Cuda); }

Status CudaLayer::time(Pass, int, std::vector<double>&) { return availability(Backend::Cuda); }

Status measureDevice(CudaDevice&) { return availability(Backend::Cuda); }

Status availability(Backend backend)
{
    if (backend == Backend::Cpu) {
        return {};
    }
    return {StatusCode::Unavailable, "this program was built without the CUDA back end (RETRO_CUDA)"};
}

} // namespace retro::lut

#endif
