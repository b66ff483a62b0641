// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/device/cudapasses.h"

#include "kernels/lut/device/cudalauncher.cuh"
#include "kernels/lut/device/documentedlaunches.h"
#include "kernels/lut/device/relevancelaunches.h"

#include <limits>
#include <vector>

namespace retro::lut::device
{

namespace
{

/// A layer's arrays on the device.
template <class W>
struct LayerArrays
{
    DeviceArray<AnchorPair> anchors;
    DeviceArray<W> weights;
    DeviceArray<std::uint64_t> rowStarts;
    DeviceArray<std::uint32_t> columns;
    DeviceArray<float> codes;
    DeviceArray<SynapseGroup> groups;
    DeviceArray<std::uint64_t> firstGroup;
    DeviceArray<std::uint64_t> inputStarts;
    DeviceArray<InputUse> inputUses;

    cudaError_t upload(const HostLayer& from, const W* given, PassBuffers<float, W>& b)
    {
        const DeviceLayer<float>& layer = from.layer;
        const bool isSparse = layer.rowStarts != nullptr;
        const bool hasGroups = isSparse && from.isDocumented;
        const cudaError_t failed =
            firstOf({anchors.upload(layer.anchors, std::uint64_t{layer.tables} * layer.comparisons),
                     weights.upload(given, from.weights), codes.upload(layer.codes, from.codes),
                     isSparse ? rowStarts.upload(layer.rowStarts, from.neurons + 1) : cudaSuccess,
                     isSparse ? columns.upload(layer.columns, from.weights) : cudaSuccess,
                     hasGroups ? groups.upload(from.documented.groups, from.groups) : cudaSuccess,
                     hasGroups ? firstGroup.upload(from.documented.firstGroup, from.neurons + 1) : cudaSuccess,
                     inputStarts.upload(from.inputs.starts, std::uint64_t{layer.inputs} + 1),
                     inputUses.upload(from.inputs.uses, from.uses)});
        b.inputs = {inputStarts.data(), inputUses.data()};
        b.layer = {
            layer.inputs,   layer.outputs, layer.tables,   layer.comparisons, layer.codeBits,
            layer.length,   layer.rows,    anchors.data(), weights.data(),    isSparse ? rowStarts.data() : nullptr,
            columns.data(), codes.data()};
        b.batch = from.batch;
        b.neurons = from.neurons;
        b.weights = from.weights;
        b.documented = from.documented;
        b.documented.groups = groups.data();
        b.documented.firstGroup = firstGroup.data();
        return failed;
    }
};

/// Inputs, results and what is kept of the passes.
struct PassArrays
{
    DeviceArray<float> input;
    DeviceArray<float> output;
    DeviceArray<std::int32_t> rows;
    DeviceArray<float> deltas;
    DeviceArray<std::int32_t> bits;
    DeviceArray<std::int32_t> codeRows;
    DeviceArray<float> codeDeltas;
    DeviceArray<std::int32_t> codeBits;
    DeviceArray<float> outputGradients;
    DeviceArray<float> inputGradients;
    DeviceArray<float> weightGradients;
    DeviceArray<float> codeGradients;

    template <class W>
    cudaError_t allocate(std::uint64_t codes, PassBuffers<float, W>& b)
    {
        const std::uint64_t in = b.positions() * b.layer.inputs;
        const std::uint64_t out = b.positions() * b.layer.outputs;
        const cudaError_t failed =
            firstOf({input.resize(in), output.resize(out), rows.resize(b.sites()), deltas.resize(b.sites()),
                     bits.resize(b.sites()), codeRows.resize(b.codePlaces()), codeDeltas.resize(b.codePlaces()),
                     codeBits.resize(b.codePlaces()), outputGradients.resize(out), inputGradients.resize(in),
                     weightGradients.resize(b.weights), codeGradients.resize(codes)});
        b.tape = {rows.data(), deltas.data(), bits.data(), codeRows.data(), codeDeltas.data(), codeBits.data()};
        b.input = input.data();
        b.output = output.data();
        b.outputGradients = outputGradients.data();
        b.inputGradients = inputGradients.data();
        b.weightGradients = weightGradients.data();
        b.codeGradients = codeGradients.data();
        return failed;
    }
};

/// Scratch of one of the paths.
struct ScratchArrays
{
    DeviceArray<float> pairRuns;
    DeviceArray<float> positionScores;
    DeviceArray<float> positionalScores;
    DeviceArray<PairScore<float>> pairScores;
    DeviceArray<std::uint32_t> visits;
    DeviceArray<std::uint32_t> sorted;
    DeviceArray<std::uint64_t> places;
    DeviceArray<std::uint64_t> sortedPlaces;
    DeviceArray<std::uint64_t> starts;
    DeviceArray<std::uint8_t> sortMemory;
    DeviceArray<float> dense;
    DeviceArray<MainEvent> mainEvents;
    DeviceArray<MainEvent> otherEvents;
    DeviceArray<FiringEvent> firingEvents;

    template <class W>
    cudaError_t allocateFused(PassBuffers<float, W>& b)
    {
        const std::uint64_t count = b.visits();
        cudaError_t failed = firstOf(
            {pairRuns.resize(b.positions() * b.mostRuns() * b.layer.outputs), positionScores.resize(b.sites()),
             positionalScores.resize(b.batch * b.codePlaces()), pairScores.resize(b.pairScores()), visits.resize(count),
             sorted.resize(count), places.resize(count), sortedPlaces.resize(count), starts.resize(b.neurons + 1)});
        b.fused = {pairRuns.data(), positionScores.data(), positionalScores.data(), pairScores.data(), visits.data(),
                   places.data(),   sorted.data(),         sortedPlaces.data(),     starts.data()};
        std::size_t bytes = 0;
        failed = failed != cudaSuccess ? failed : sortVisits(b, nullptr, bytes, nullptr);
        return failed != cudaSuccess ? failed : sortMemory.resize(bytes);
    }

    template <class W>
    cudaError_t allocateDocumented(PassBuffers<float, W>& b)
    {
        const bool isSequence = b.layer.length > 1;
        const std::uint64_t events = isSequence ? b.batch * pairCount(b.layer.length) * b.layer.tables : 0;
        const std::uint64_t fired = isSequence || !b.isSparse() ? 0 : 2 * b.sites() * b.documented.maxForwardGroups;
        const cudaError_t failed = firstOf({dense.resize(b.positions() * b.neurons), mainEvents.resize(events),
                                            otherEvents.resize(2 * events), firingEvents.resize(fired)});
        b.documented.dense = dense.data();
        b.documented.mainEvents = mainEvents.data();
        b.documented.otherEvents = otherEvents.data();
        b.documented.firingEvents = firingEvents.data();
        return failed;
    }
};

/// What sharing relevance needs beside the arrays of the passes; made for the first call.
struct ShareArrays
{
    DeviceArray<double> shapley;
    DeviceArray<float> perUnit;
    DeviceArray<float> amounts;
    DeviceArray<float> chosen;
    DeviceArray<float> left;
    DeviceArray<float> tables;
    DeviceArray<float> bits;
    DeviceArray<float> pairMap;
    DeviceArray<float> unplaced;

    template <class W>
    cudaError_t allocate(const HostRelevance& call, const PassBuffers<float, W>& b)
    {
        const ShareSizes sizes = ShareSizes::of(b.layer);
        m_together = sizes.together(b.batch, sizeof(float));
        const std::uint64_t ofTables = b.batch * b.layer.tables;
        m_isMade = false;
        const cudaError_t failed = firstOf(
            {shapley.upload(call.shapley, call.shapleyCount), perUnit.resize(m_together * sizes.perUnit),
             amounts.resize(m_together * sizes.amounts), chosen.resize(m_together * sizes.rows),
             left.resize(m_together * sizes.rows), tables.resize(ofTables), bits.resize(ofTables * rowBitsOf(b.layer)),
             pairMap.resize(b.positions() * b.layer.length), unplaced.resize(b.batch)});
        m_isMade = failed == cudaSuccess;
        return failed;
    }
    [[nodiscard]] bool isMade() const { return m_isMade; }
    [[nodiscard]] std::uint64_t together() const { return m_together; }

    /// Arrays for what a call wants.
    template <class W>
    [[nodiscard]] ShareBuffers<float> buffersFor(const HostRelevance& call, const PassBuffers<float, W>& b) const
    {
        ShareBuffers<float> s;
        s.rule = call.rule;
        s.epsilon = call.epsilon;
        s.outputRelevance = b.outputGradients;
        s.shapley = shapley.data();
        s.perUnit = perUnit.data();
        s.amounts = amounts.data();
        s.chosen = chosen.data();
        s.left = left.data();
        s.inputRelevance = call.inputs == nullptr ? nullptr : b.inputGradients;
        s.codeRelevance = call.codes == nullptr ? nullptr : b.codeGradients;
        s.tableRelevance = call.tables == nullptr ? nullptr : tables.data();
        s.bitRelevance = call.bits == nullptr ? nullptr : bits.data();
        s.pairMap = call.pairMap == nullptr ? nullptr : pairMap.data();
        s.unplaced = call.unplaced == nullptr ? nullptr : unplaced.data();
        return s;
    }

private:
    bool m_isMade = false;
    std::uint64_t m_together = 1;
};

/// Streams 0 to 2, and the events between them.
struct Streams
{
    cudaStream_t streams[kMaxStreams]{};
    cudaEvent_t began = nullptr;
    cudaEvent_t ended[kMaxStreams]{};
    cudaEvent_t done[kMaxSteps]{}; ///< by step

    ~Streams()
    {
        for (cudaStream_t stream : streams) {
            destroy(stream);
        }
        for (cudaEvent_t event : ended) {
            destroy(event);
        }
        for (cudaEvent_t event : done) {
            destroy(event);
        }
        destroy(began);
    }

    cudaError_t make(std::uint64_t steps)
    {
        cudaError_t failed = eventFor(began);
        for (std::uint32_t i = 0; i < kMaxStreams; ++i) {
            failed =
                firstOf({failed, cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking), eventFor(ended[i])});
        }
        for (std::uint64_t i = 0; i < steps; ++i) {
            failed = firstOf({failed, eventFor(done[i])});
        }
        return failed;
    }

    /// The other streams start where stream 0 stands.
    cudaError_t fork()
    {
        cudaError_t failed = cudaEventRecord(began, streams[0]);
        for (std::uint32_t i = 1; i < kMaxStreams; ++i) {
            failed = firstOf({failed, cudaStreamWaitEvent(streams[i], began)});
        }
        return failed;
    }

    /// Stream 0 waits for the others.
    cudaError_t join()
    {
        cudaError_t failed = cudaSuccess;
        for (std::uint32_t i = 1; i < kMaxStreams; ++i) {
            failed =
                firstOf({failed, cudaEventRecord(ended[i], streams[i]), cudaStreamWaitEvent(streams[0], ended[i])});
        }
        return failed;
    }

    /// What a step waits for on other streams.
    cudaError_t wait(const Step& step)
    {
        cudaError_t failed = cudaSuccess;
        for (std::uint64_t i = 0; i < kMaxSteps; ++i) {
            if ((step.waitsFor >> i & 1U) != 0) {
                failed = firstOf({failed, cudaStreamWaitEvent(streams[step.stream], done[i])});
            }
        }
        return failed;
    }

private:
    static cudaError_t eventFor(cudaEvent_t& event) { return cudaEventCreateWithFlags(&event, cudaEventDisableTiming); }
    static void destroy(cudaStream_t stream)
    {
        if (stream != nullptr) {
            cudaStreamDestroy(stream);
        }
    }
    static void destroy(cudaEvent_t event)
    {
        if (event != nullptr) {
            cudaEventDestroy(event);
        }
    }
};

/// Two moments of the device's clock.
struct Clock
{
    cudaEvent_t start = nullptr;
    cudaEvent_t stop = nullptr;

    Clock() { m_error = firstOf({cudaEventCreate(&start), cudaEventCreate(&stop)}); }
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    ~Clock()
    {
        cudaEventDestroy(start);
        cudaEventDestroy(stop);
    }
    [[nodiscard]] cudaError_t error() const { return m_error; }

private:
    cudaError_t m_error = cudaSuccess;
};

/// The passes over a layer whose weights are stored as W.
template <class W>
class PassesOf final : public CudaPasses
{
public:
    std::string prepare(const HostLayer& layer, const W* weights)
    {
        m_isDocumented = layer.isDocumented;
        m_forward.assign(layer.forward.first, layer.forward.first + layer.forward.count);
        m_backward.assign(layer.backward.first, layer.backward.first + layer.backward.count);
        if (const std::string text =
                textOf(m_layer.upload(layer, weights, m_buffers), "the layer does not fit the device");
            !text.empty()) {
            return text;
        }
        const cudaError_t room =
            firstOf({m_arrays.allocate(layer.codes, m_buffers),
                     m_isDocumented ? m_scratch.allocateDocumented(m_buffers) : m_scratch.allocateFused(m_buffers)});
        if (room != cudaSuccess) {
            return textOf(room, "the buffers of the batch do not fit the device");
        }
        cudaError_t failed = m_streams.make(std::max(m_forward.size(), m_backward.size()));
        for (const bool isBackward : {false, true}) {
            PassGraph& graph = isBackward ? m_backwardGraph : m_forwardGraph;
            failed = failed != cudaSuccess ? failed : graph.capture(m_streams.streams[0], [this, isBackward] {
                return firstOf({clear(isBackward), launchAll(isBackward ? m_backward : m_forward)});
            });
        }
        return textOf(failed, "the passes could not be captured");
    }

    std::string forward(const float* input, float* output, const HostTape& tape) override
    {
        const cudaStream_t stream = m_streams.streams[0];
        const PassArrays& a = m_arrays;
        return textOf(
            firstOf({m_arrays.input.set(input, stream), m_forwardGraph.launch(stream), a.output.get(output, stream),
                     a.rows.get(tape.rows, stream), a.deltas.get(tape.deltas, stream), a.bits.get(tape.bits, stream),
                     a.codeRows.get(tape.codeRows, stream), a.codeDeltas.get(tape.codeDeltas, stream),
                     a.codeBits.get(tape.codeBits, stream), m_scratch.mainEvents.get(tape.mainEvents, stream),
                     m_scratch.otherEvents.get(tape.otherEvents, stream), cudaStreamSynchronize(stream)}),
            "the forward pass failed");
    }

    std::string backward(const float* outputGradients, const GivenTape& tape, const HostGradients& gradients) override
    {
        const cudaStream_t stream = m_streams.streams[0];
        PassArrays& a = m_arrays;
        return textOf(
            firstOf({a.rows.set(tape.rows, stream), a.deltas.set(tape.deltas, stream), a.bits.set(tape.bits, stream),
                     a.codeRows.set(tape.codeRows, stream), a.codeDeltas.set(tape.codeDeltas, stream),
                     a.codeBits.set(tape.codeBits, stream), m_scratch.mainEvents.set(tape.mainEvents, stream),
                     m_scratch.otherEvents.set(tape.otherEvents, stream),
                     a.outputGradients.set(outputGradients, stream), m_backwardGraph.launch(stream),
                     a.inputGradients.get(gradients.inputs, stream), a.weightGradients.get(gradients.weights, stream),
                     a.codeGradients.get(gradients.codes, stream), cudaStreamSynchronize(stream)}),
            "the backward pass failed");
    }

    std::string relevance(const HostRelevance& call) override
    {
        if (!m_share.isMade()) {
            const std::string text =
                textOf(m_share.allocate(call, m_buffers), "the buffers that share relevance do not fit the device");
            if (!text.empty()) {
                return text;
            }
        }
        const cudaStream_t stream = m_streams.streams[0];
        PassArrays& a = m_arrays;
        const GivenTape& tape = call.tape;
        cudaError_t failed =
            firstOf({a.rows.set(tape.rows, stream), a.deltas.set(tape.deltas, stream), a.bits.set(tape.bits, stream),
                     a.codeRows.set(tape.codeRows, stream), a.codeDeltas.set(tape.codeDeltas, stream),
                     a.codeBits.set(tape.codeBits, stream), a.input.set(call.input, stream),
                     a.output.set(call.output, stream), a.outputGradients.set(call.outputRelevance, stream)});
        CudaLauncher launcher(stream, m_scratch.sortMemory);
        if (failed == cudaSuccess) {
            launchShares(m_buffers, m_share.buffersFor(call, m_buffers), m_share.together(), launcher);
        }
        failed = firstOf({failed, launcher.error(), a.inputGradients.get(call.inputs, stream),
                          a.codeGradients.get(call.codes, stream), m_share.tables.get(call.tables, stream),
                          m_share.bits.get(call.bits, stream), m_share.pairMap.get(call.pairMap, stream),
                          m_share.unplaced.get(call.unplaced, stream), cudaStreamSynchronize(stream)});
        return textOf(failed, "sharing relevance failed");
    }

    std::string time(bool isBackward, int runs, double* seconds) override
    {
        const Clock clock;
        const std::vector<Step>& steps = isBackward ? m_backward : m_forward;
        std::fill(seconds, seconds + steps.size(), std::numeric_limits<double>::infinity());
        cudaError_t failed = clock.error();
        for (int run = 0; run < runs && failed == cudaSuccess; ++run) {
            failed = clear(isBackward);
            for (std::size_t i = 0; i < steps.size() && failed == cudaSuccess; ++i) {
                failed = timeStep(steps[i], clock, seconds[i]);
            }
        }
        return textOf(failed, "the kernels could not be timed");
    }

private:
    /// All steps of a pass, each on its stream.
    cudaError_t launchAll(const std::vector<Step>& steps)
    {
        cudaError_t failed = m_streams.fork();
        for (std::size_t i = 0; i < steps.size() && failed == cudaSuccess; ++i) {
            const cudaStream_t stream = m_streams.streams[steps[i].stream];
            failed = firstOf(
                {m_streams.wait(steps[i]), launch(steps[i], stream), cudaEventRecord(m_streams.done[i], stream)});
        }
        return firstOf({failed, m_streams.join()});
    }

    cudaError_t launch(const Step& step, cudaStream_t stream)
    {
        CudaLauncher launcher(stream, m_scratch.sortMemory);
        const bool isKnown = launchStep(m_buffers, step.kernel, step.variant, launcher);
        return isKnown ? launcher.error() : cudaErrorInvalidDeviceFunction;
    }

    cudaError_t clear(bool isBackward)
    {
        CudaLauncher launcher(m_streams.streams[0], m_scratch.sortMemory);
        if (m_isDocumented) {
            clearDocumented(m_buffers, isBackward, launcher);
        }
        return launcher.error();
    }

    cudaError_t timeStep(const Step& step, const Clock& clock, double& seconds)
    {
        const cudaStream_t stream = m_streams.streams[0];
        float milliseconds = 0;
        const cudaError_t failed =
            firstOf({cudaEventRecord(clock.start, stream), launch(step, stream), cudaEventRecord(clock.stop, stream),
                     cudaEventSynchronize(clock.stop), cudaEventElapsedTime(&milliseconds, clock.start, clock.stop)});
        seconds = std::min(seconds, static_cast<double>(milliseconds) * 1e-3);
        return failed;
    }

    bool m_isDocumented = false;
    std::vector<Step> m_forward;
    std::vector<Step> m_backward;
    PassBuffers<float, W> m_buffers;
    LayerArrays<W> m_layer;
    PassArrays m_arrays;
    ScratchArrays m_scratch;
    ShareArrays m_share;
    Streams m_streams;
    PassGraph m_forwardGraph;
    PassGraph m_backwardGraph;
};

template <class W>
std::string madeOf(const HostLayer& layer, const W* weights, std::unique_ptr<CudaPasses>& passes)
{
    auto made = std::make_unique<PassesOf<W>>();
    std::string text = made->prepare(layer, weights);
    if (text.empty()) {
        passes = std::move(made);
    }
    return text;
}

} // namespace

static_assert(sizeof(Float16) == sizeof(std::uint16_t) && sizeof(BFloat16) == sizeof(std::uint16_t));

std::string CudaPasses::make(const HostLayer& layer, std::unique_ptr<CudaPasses>& passes)
{
    switch (layer.rowType) {
    case RowType::Float16:
        return madeOf(layer, reinterpret_cast<const Float16*>(layer.narrowWeights), passes);
    case RowType::BFloat16:
        return madeOf(layer, reinterpret_cast<const BFloat16*>(layer.narrowWeights), passes);
    case RowType::Real:
        break;
    }
    return madeOf(layer, layer.layer.weights, passes);
}

std::string deviceName()
{
    int device = 0;
    cudaDeviceProp properties{};
    const cudaError_t failed = firstOf({cudaGetDevice(&device), cudaGetDeviceProperties(&properties, device)});
    return failed == cudaSuccess ? std::string(properties.name) : std::string();
}

std::string timeCopy(std::uint64_t bytes, int runs, double& seconds)
{
    DeviceArray<std::uint8_t> from;
    DeviceArray<std::uint8_t> to;
    const Clock clock;
    cudaError_t failed = firstOf({clock.error(), from.resize(bytes), to.resize(bytes)});
    seconds = std::numeric_limits<double>::infinity();
    for (int run = 0; run < runs && failed == cudaSuccess; ++run) {
        float milliseconds = 0;
        failed = firstOf({cudaEventRecord(clock.start, nullptr),
                          cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, nullptr),
                          cudaEventRecord(clock.stop, nullptr), cudaEventSynchronize(clock.stop),
                          cudaEventElapsedTime(&milliseconds, clock.start, clock.stop)});
        seconds = std::min(seconds, static_cast<double>(milliseconds) * 1e-3);
    }
    return textOf(failed, "the copy could not be timed");
}

std::string deviceProblem()
{
    int count = 0;
    const cudaError_t failed = cudaGetDeviceCount(&count);
    if (failed != cudaSuccess) {
        return textOf(failed, "no CUDA device can be used");
    }
    return count == 0 ? "there is no CUDA device" : std::string();
}

} // namespace retro::lut::device

#ifdef RETRO_LUT_CUDA_FILE
/// What loadedbackend.cpp asks for; nothing else of this file is seen from outside.
extern "C" __attribute__((visibility("default"))) const retro::lut::device::BackEnd* retrogradeCudaBackEnd()
{
    using namespace retro::lut::device;
    static const BackEnd functions{&CudaPasses::make, &deviceProblem, &deviceName, &timeCopy};
    return &functions;
}
#endif
