// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/device/cudapasses.h"

#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

namespace retro::lut::device
{

namespace
{

constexpr std::uint32_t kThreads = 256;

/// Sixteen lanes of a warp that work on one item.
struct WarpLanes
{
    std::uint32_t lane;
    std::uint32_t mask; ///< of the lanes of this item, so that the other half of the warp may be elsewhere

    template <class F>
    __device__ auto sum(const F& part) const
    {
        auto value = part(lane);
        for (std::uint32_t half = kScoreLanes / 2; half > 0; half /= 2) {
            value += __shfl_down_sync(mask, value, half, kScoreLanes);
        }
        return value;
    }
    [[nodiscard]] __device__ bool isFirst() const { return lane == 0; }
};

__device__ std::uint64_t firstItem() { return gridFirst(blockIdx.x, blockDim.x, threadIdx.x); }
__device__ std::uint64_t itemStep() { return gridStride(gridDim.x, blockDim.x); }

/// One thread per item; what the grid cannot hold is looped over.
template <class Body>
__global__ void forItems(std::uint64_t items, Body body)
{
    for (std::uint64_t item = firstItem(); item < items; item += itemStep()) {
        body(item);
    }
}

/// Sixteen threads per item.
template <class Body>
__global__ void forItemsInLanes(std::uint64_t items, Body body)
{
    const std::uint32_t lane = threadIdx.x % kScoreLanes;
    const std::uint32_t inWarp = threadIdx.x % warpSize / kScoreLanes * kScoreLanes;
    const WarpLanes lanes{lane, ((1U << kScoreLanes) - 1U) << inWarp};
    for (std::uint64_t item = firstItem() / kScoreLanes; item < items; item += itemStep() / kScoreLanes) {
        body(item, lanes);
    }
}

struct ChooseRows
{
    DeviceLayer<float> layer;
    const float* input;
    DeviceTape<float> tape;
    __device__ void operator()(std::uint64_t item) const { chooseRow(layer, input, tape, item); }
};

struct CheckCodes
{
    DeviceLayer<float> layer;
    DeviceTape<float> tape;
    __device__ void operator()(std::uint64_t item) const { checkCode(layer, tape, item); }
};

struct Gather
{
    DeviceLayer<float> layer;
    DeviceTape<float> tape;
    float* output;
    __device__ void operator()(std::uint64_t item) const
    {
        if (layer.rowStarts != nullptr) {
            gatherSparse(layer, tape, output, item);
        } else if (layer.length == 1) {
            gatherOutput(layer, tape, output, item);
        } else {
            gatherPairOutput(layer, tape, output, item);
        }
    }
};

struct Score
{
    DeviceLayer<float> layer;
    DeviceTape<float> tape;
    const float* gradients;
    float* positionScores;
    float* positionalScores;
    __device__ void operator()(std::uint64_t item, const WarpLanes& lanes) const
    {
        if (layer.length == 1) {
            scoreSite(layer, tape, gradients, positionScores, item, lanes);
        } else {
            scorePairs(layer, tape, gradients, positionScores, positionalScores, item, lanes);
        }
    }
};

struct PropagateInputs
{
    DeviceLayer<float> layer;
    DeviceTape<float> tape;
    const float* positionScores;
    float* inputGradients;
    __device__ void operator()(std::uint64_t item) const
    {
        propagateInput(layer, tape, positionScores, inputGradients, item);
    }
};

struct PropagateCodes
{
    DeviceLayer<float> layer;
    DeviceTape<float> tape;
    const float* positionalScores;
    std::uint64_t batch;
    float* codeGradients;
    __device__ void operator()(std::uint64_t item) const
    {
        propagateCode(layer, tape, positionalScores, batch, codeGradients, item);
    }
};

struct ListVisits
{
    DeviceLayer<float> layer;
    DeviceTape<float> tape;
    std::uint32_t* neurons;
    std::uint64_t* places;
    __device__ void operator()(std::uint64_t item) const { listVisit(layer, tape, neurons, places, item); }
};

struct FindStarts
{
    const std::uint32_t* neurons;
    std::uint64_t visits;
    std::uint64_t* starts;
    __device__ void operator()(std::uint64_t item) const { startOfRow(neurons, visits, starts, item); }
};

struct SumWeights
{
    DeviceLayer<float> layer;
    const float* gradients;
    const std::uint64_t* starts;
    const std::uint64_t* places;
    std::uint64_t neurons;
    float* weightGradients;
    __device__ void operator()(std::uint64_t item) const
    {
        sumWeight(layer, gradients, starts, places, neurons, weightGradients, item);
    }
};

/// Memory of the device.
template <class N>
class DeviceArray
{
public:
    DeviceArray() = default;
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    ~DeviceArray() { cudaFree(m_data); }

    cudaError_t resize(std::uint64_t count)
    {
        m_count = count;
        // An empty array still has an address: null says that a layer is not sparse.
        return cudaMalloc(reinterpret_cast<void**>(&m_data), std::max<std::uint64_t>(count, 1) * sizeof(N));
    }
    cudaError_t upload(const N* from, std::uint64_t count)
    {
        const cudaError_t failed = resize(count);
        return failed != cudaSuccess || count == 0
                   ? failed
                   : cudaMemcpy(m_data, from, count * sizeof(N), cudaMemcpyHostToDevice);
    }
    cudaError_t set(const N* from, cudaStream_t stream)
    {
        return m_count == 0 ? cudaSuccess
                            : cudaMemcpyAsync(m_data, from, m_count * sizeof(N), cudaMemcpyHostToDevice, stream);
    }
    cudaError_t get(N* to, cudaStream_t stream) const
    {
        return to == nullptr || m_count == 0
                   ? cudaSuccess
                   : cudaMemcpyAsync(to, m_data, m_count * sizeof(N), cudaMemcpyDeviceToHost, stream);
    }
    [[nodiscard]] N* data() const { return m_data; }
    [[nodiscard]] std::uint64_t size() const { return m_count; }

private:
    N* m_data = nullptr;
    std::uint64_t m_count = 0;
};

/// The first of the errors.
cudaError_t firstOf(std::initializer_list<cudaError_t> all)
{
    for (const cudaError_t one : all) {
        if (one != cudaSuccess) {
            return one;
        }
    }
    return cudaSuccess;
}

std::string textOf(cudaError_t error, const char* what)
{
    return error == cudaSuccess ? std::string() : std::string(what) + ": CUDA says " + cudaGetErrorString(error);
}

/// Blocks for so many threads; an empty grid is none.
std::uint32_t blocksFor(std::uint64_t threads)
{
    return static_cast<std::uint32_t>(gridExtent(ceilDivide(threads, kThreads), kMaxGridX));
}

template <class Body>
cudaError_t launch(std::uint64_t items, cudaStream_t stream, const Body& body)
{
    if (items > 0) {
        forItems<<<blocksFor(items), kThreads, 0, stream>>>(items, body);
    }
    return cudaGetLastError();
}

template <class Body>
cudaError_t launchInLanes(std::uint64_t items, cudaStream_t stream, const Body& body)
{
    if (items > 0) {
        forItemsInLanes<<<blocksFor(items * kScoreLanes), kThreads, 0, stream>>>(items, body);
    }
    return cudaGetLastError();
}

int bitsFor(std::uint64_t count)
{
    int bits = 1;
    while (bits < 32 && (count - 1) >> bits != 0) {
        ++bits;
    }
    return bits;
}

} // namespace

struct CudaPasses::State
{
    DeviceLayer<float> layer{};
    std::uint64_t neurons = 0;
    std::uint64_t batch = 0;
    DeviceArray<AnchorPair> anchors;
    DeviceArray<float> weights;
    DeviceArray<std::uint64_t> rowStarts;
    DeviceArray<std::uint32_t> columns;
    DeviceArray<float> codes;
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
    DeviceArray<float> positionScores;
    DeviceArray<float> positionalScores;
    DeviceArray<std::uint32_t> visits;
    DeviceArray<std::uint32_t> sortedVisits;
    DeviceArray<std::uint64_t> places;
    DeviceArray<std::uint64_t> sortedPlaces;
    DeviceArray<std::uint64_t> starts;
    DeviceArray<std::uint8_t> sortMemory;
    std::vector<cudaStream_t> streams;
    std::vector<cudaEvent_t> events;
    cudaGraphExec_t forwardGraph = nullptr;
    cudaGraphExec_t backwardGraph = nullptr;

    ~State()
    {
        cudaGraphExecDestroy(forwardGraph);
        cudaGraphExecDestroy(backwardGraph);
        for (cudaEvent_t event : events) {
            cudaEventDestroy(event);
        }
        for (cudaStream_t stream : streams) {
            cudaStreamDestroy(stream);
        }
    }

    [[nodiscard]] std::uint64_t positions() const { return batch * layer.length; }
    [[nodiscard]] std::uint64_t codePlaces() const { return std::uint64_t{layer.length - 1} * layer.tables; }
    [[nodiscard]] DeviceTape<float> tape() const
    {
        return {rows.data(), deltas.data(), bits.data(), codeRows.data(), codeDeltas.data(), codeBits.data()};
    }

    cudaError_t upload(const HostLayer& from)
    {
        layer = from.layer;
        neurons = from.neurons;
        batch = from.batch;
        const bool isSparse = layer.rowStarts != nullptr;
        const cudaError_t failed =
            firstOf({anchors.upload(layer.anchors, std::uint64_t{layer.tables} * layer.comparisons),
                     weights.upload(layer.weights, from.weights), codes.upload(layer.codes, from.codes),
                     isSparse ? rowStarts.upload(layer.rowStarts, neurons + 1) : cudaSuccess,
                     isSparse ? columns.upload(layer.columns, from.weights) : cudaSuccess});
        layer.anchors = anchors.data();
        layer.weights = weights.data();
        layer.codes = codes.data();
        layer.rowStarts = isSparse ? rowStarts.data() : nullptr;
        layer.columns = isSparse ? columns.data() : nullptr;
        return failed;
    }

    cudaError_t allocate()
    {
        const std::uint64_t sites = positions() * layer.tables;
        const std::uint64_t count = visitCount(layer, batch);
        return firstOf({input.resize(positions() * layer.inputs), output.resize(positions() * layer.outputs),
                        rows.resize(sites), deltas.resize(sites), bits.resize(sites), codeRows.resize(codePlaces()),
                        codeDeltas.resize(codePlaces()), codeBits.resize(codePlaces()),
                        outputGradients.resize(positions() * layer.outputs),
                        inputGradients.resize(positions() * layer.inputs), weightGradients.resize(weights.size()),
                        codeGradients.resize(codes.size()), positionScores.resize(sites),
                        positionalScores.resize(batch * codePlaces()), visits.resize(count), sortedVisits.resize(count),
                        places.resize(count), sortedPlaces.resize(count), starts.resize(neurons + 1)});
    }

    cudaError_t sort(void* memory, std::size_t& bytes, cudaStream_t stream)
    {
        return cub::DeviceRadixSort::SortPairs(memory, bytes, visits.data(), sortedVisits.data(), places.data(),
                                               sortedPlaces.data(), static_cast<std::int64_t>(visits.size()), 0,
                                               bitsFor(neurons), stream);
    }

    cudaError_t makeStreams()
    {
        for (int i = 0; i < 2; ++i) {
            cudaStream_t stream = nullptr;
            cudaEvent_t event = nullptr;
            const cudaError_t failed = firstOf({cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                                                cudaEventCreateWithFlags(&event, cudaEventDisableTiming)});
            if (failed != cudaSuccess) {
                return failed;
            }
            streams.push_back(stream);
            events.push_back(event);
        }
        std::size_t bytes = 0;
        const cudaError_t failed = sort(nullptr, bytes, streams[0]);
        return failed != cudaSuccess ? failed : sortMemory.resize(bytes);
    }

    /// Stream 1 starts where stream 0 stands.
    cudaError_t fork()
    {
        return firstOf({cudaEventRecord(events[0], streams[0]), cudaStreamWaitEvent(streams[1], events[0])});
    }
    /// Stream 0 waits for stream 1.
    cudaError_t join()
    {
        return firstOf({cudaEventRecord(events[1], streams[1]), cudaStreamWaitEvent(streams[0], events[1])});
    }

    cudaError_t launchForward()
    {
        const std::uint64_t items = layer.rowStarts != nullptr ? positions() : positions() * layer.outputs;
        return firstOf({fork(), launch(positions() * layer.tables, streams[0], ChooseRows{layer, input.data(), tape()}),
                        launch(codePlaces(), streams[1], CheckCodes{layer, tape()}), join(),
                        launch(items, streams[0], Gather{layer, tape(), output.data()})});
    }

    cudaError_t launchWeights(cudaStream_t stream)
    {
        std::size_t bytes = sortMemory.size();
        return firstOf({launch(visits.size(), stream, ListVisits{layer, tape(), visits.data(), places.data()}),
                        visits.size() > 0 ? sort(sortMemory.data(), bytes, stream) : cudaSuccess,
                        launch(neurons + 1, stream, FindStarts{sortedVisits.data(), visits.size(), starts.data()}),
                        launch(weights.size(), stream,
                               SumWeights{layer, outputGradients.data(), starts.data(), sortedPlaces.data(), neurons,
                                          weightGradients.data()})});
    }

    cudaError_t launchBackward()
    {
        return firstOf({fork(), launchWeights(streams[1]),
                        launchInLanes(batch * layer.tables, streams[0],
                                      Score{layer, tape(), outputGradients.data(), positionScores.data(),
                                            positionalScores.data()}),
                        launch(positions() * layer.inputs, streams[0],
                               PropagateInputs{layer, tape(), positionScores.data(), inputGradients.data()}),
                        launch(codePlaces(), streams[0],
                               PropagateCodes{layer, tape(), positionalScores.data(), batch, codeGradients.data()}),
                        join()});
    }

    /// Records what `launches` puts on the streams as a graph.
    cudaError_t capture(cudaError_t (State::*launches)(), cudaGraphExec_t& executable)
    {
        cudaError_t failed = cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal);
        if (failed != cudaSuccess) {
            return failed;
        }
        failed = (this->*launches)();
        cudaGraph_t graph = nullptr;
        const cudaError_t ended = cudaStreamEndCapture(streams[0], &graph);
        failed = firstOf({failed, ended});
        if (failed == cudaSuccess) {
            failed = cudaGraphInstantiate(&executable, graph, 0);
        }
        cudaGraphDestroy(graph);
        return failed;
    }
};

CudaPasses::CudaPasses(std::unique_ptr<State> state) : m_state(std::move(state)) {}

CudaPasses::~CudaPasses() = default;

std::string CudaPasses::make(const HostLayer& layer, std::unique_ptr<CudaPasses>& passes)
{
    auto state = std::make_unique<State>();
    if (const std::string text = textOf(state->upload(layer), "the layer does not fit the device"); !text.empty()) {
        return text;
    }
    if (const std::string text = textOf(state->allocate(), "the buffers of the batch do not fit the device");
        !text.empty()) {
        return text;
    }
    cudaError_t failed = state->makeStreams();
    failed = failed != cudaSuccess ? failed : state->capture(&State::launchForward, state->forwardGraph);
    failed = failed != cudaSuccess ? failed : state->capture(&State::launchBackward, state->backwardGraph);
    if (failed != cudaSuccess) {
        return textOf(failed, "the passes could not be captured");
    }
    passes.reset(new CudaPasses(std::move(state)));
    return {};
}

std::string CudaPasses::forward(const float* input, float* output, const HostTape& tape)
{
    State& s = *m_state;
    const cudaStream_t stream = s.streams[0];
    return textOf(
        firstOf({s.input.set(input, stream), cudaGraphLaunch(s.forwardGraph, stream), s.output.get(output, stream),
                 s.rows.get(tape.rows, stream), s.deltas.get(tape.deltas, stream), s.bits.get(tape.bits, stream),
                 s.codeRows.get(tape.codeRows, stream), s.codeDeltas.get(tape.codeDeltas, stream),
                 s.codeBits.get(tape.codeBits, stream), cudaStreamSynchronize(stream)}),
        "the forward pass failed");
}

std::string CudaPasses::backward(const float* outputGradients, const GivenTape& tape, const HostGradients& gradients)
{
    State& s = *m_state;
    const cudaStream_t stream = s.streams[0];
    return textOf(
        firstOf({s.rows.set(tape.rows, stream), s.deltas.set(tape.deltas, stream), s.bits.set(tape.bits, stream),
                 s.codeRows.set(tape.codeRows, stream), s.codeDeltas.set(tape.codeDeltas, stream),
                 s.codeBits.set(tape.codeBits, stream), s.outputGradients.set(outputGradients, stream),
                 cudaGraphLaunch(s.backwardGraph, stream), s.inputGradients.get(gradients.inputs, stream),
                 s.weightGradients.get(gradients.weights, stream), s.codeGradients.get(gradients.codes, stream),
                 cudaStreamSynchronize(stream)}),
        "the backward pass failed");
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
