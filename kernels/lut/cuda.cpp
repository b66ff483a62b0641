// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/cuda.h"

#ifdef RETRO_LUT_CUDA

#include "kernels/lut/callchecks.h"
#include "kernels/lut/device/cudapasses.h"

namespace retro::lut
{

static_assert(sizeof(device::AnchorPair) == sizeof(Anchor) && alignof(device::AnchorPair) == alignof(Anchor));
static_assert(device::kUnused == kUnusedAnchor);

namespace
{

constexpr const char* kTakesOver = "; the CPU back end takes over";

device::HostLayer hostLayer(const Layer<float>& layer, std::uint64_t batch)
{
    const LayerDescription<float>& given = layer.description();
    const LayerShape& shape = given.shape;
    device::HostLayer host;
    host.layer = {shape.inputs,
                  shape.outputs,
                  shape.tables,
                  shape.comparisons,
                  shape.codeBits,
                  shape.length,
                  shape.rows(),
                  reinterpret_cast<const device::AnchorPair*>(given.anchors.data()),
                  given.weights.data(),
                  given.isSparse ? given.rowStarts.data() : nullptr,
                  given.isSparse ? given.columns.data() : nullptr,
                  given.codes.data()};
    host.weights = given.weights.size();
    host.neurons = shape.neurons();
    host.codes = given.codes.size();
    host.batch = batch;
    return host;
}

Status deviceStatus(std::string problem)
{
    return problem.empty() ? Status{} : Status{StatusCode::Device, std::move(problem)};
}

} // namespace

struct CudaLayer::State
{
    Layer<float> layer;
    std::uint64_t batch = 0;
    std::unique_ptr<device::CudaPasses> passes;

    /// The call's own checks, and that it is for this batch.
    [[nodiscard]] Status check(std::uint64_t wanted, Status sizes) const
    {
        if (wanted != batch) {
            return {StatusCode::BadSize, "the layer on the device was made for a batch of " + std::to_string(batch) +
                                             ", not " + std::to_string(wanted)};
        }
        return sizes;
    }
};

CudaLayer::CudaLayer(std::unique_ptr<State> state) : m_state(std::move(state)) {}

CudaLayer::~CudaLayer() = default;

Status CudaLayer::create(const Layer<float>& layer, std::uint64_t batch, std::unique_ptr<CudaLayer>& made)
{
    if (Status status = availability(Backend::Cuda); !status.ok()) {
        return status;
    }
    Schedule schedule;
    if (Status status = makeSchedule(requestOf(layer, batch, Path::Fused, Pass::Backward), schedule); !status.ok()) {
        return status;
    }
    auto state = std::make_unique<State>(State{layer, batch, nullptr});
    if (Status status = deviceStatus(device::CudaPasses::make(hostLayer(layer, batch), state->passes)); !status.ok()) {
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
    if (call.tape != nullptr) {
        resizeTape(m_state->layer, call.batch, *call.tape);
        Tape<float>& tape = *call.tape;
        to = {tape.rows.data(),     tape.deltas.data(),     tape.bits.data(),
              tape.codeRows.data(), tape.codeDeltas.data(), tape.codeBits.data()};
    }
    return deviceStatus(m_state->passes->forward(call.input.data(), call.output.data(), to));
}

Status CudaLayer::backward(const BackwardCall<float>& call)
{
    if (Status status = m_state->check(call.batch, checkBackward(m_state->layer, call, Path::Fused)); !status.ok()) {
        return status;
    }
    const Tape<float>& tape = *call.tape;
    const device::GivenTape from{tape.rows.data(),     tape.deltas.data(),     tape.bits.data(),
                                 tape.codeRows.data(), tape.codeDeltas.data(), tape.codeBits.data()};
    const device::HostGradients to{call.inputGradients.data(), call.weightGradients.data(), call.codeGradients.data()};
    return deviceStatus(m_state->passes->backward(call.outputGradients.data(), from, to));
}

Status availability(Backend backend)
{
    if (backend == Backend::Cpu) {
        return {};
    }
    const std::string problem = device::deviceProblem();
    return problem.empty() ? Status{} : Status{StatusCode::Unavailable, problem + kTakesOver};
}

} // namespace retro::lut

#else

namespace retro::lut
{

struct CudaLayer::State
{};

CudaLayer::CudaLayer(std::unique_ptr<State> state) : m_state(std::move(state)) {}

CudaLayer::~CudaLayer() = default;

Status CudaLayer::create(const Layer<float>&, std::uint64_t, std::unique_ptr<CudaLayer>&)
{
    return availability(Backend::Cuda);
}

Status CudaLayer::forward(const ForwardCall<float>&) { return availability(Backend::Cuda); }

Status CudaLayer::backward(const BackwardCall<float>&) { return availability(Backend::Cuda); }

Status availability(Backend backend)
{
    if (backend == Backend::Cpu) {
        return {};
    }
    return {StatusCode::Unavailable, "this program was built without the CUDA back end (RETRO_CUDA); the CPU back end "
                                     "takes over"};
}

} // namespace retro::lut

#endif
