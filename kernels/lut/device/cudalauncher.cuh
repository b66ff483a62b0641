// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/device/fusedlaunches.h"
#include "kernels/lut/device/layergraph.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

// Kernels that give the items of a body to the threads of a device, its memory, and the launcher of both paths.
namespace retro::lut::device
{

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

__device__ inline std::uint64_t firstItem() { return gridFirst(blockIdx.x, blockDim.x, threadIdx.x); }
__device__ inline std::uint64_t itemStep() { return gridStride(gridDim.x, blockDim.x); }

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

/// One block per tile. What the first items wrote is there for the second ones of the same tile, and for no other.
template <class First, class Second>
__global__ void forTiles(Tiles tiles, First first, Second second)
{
    for (std::uint64_t tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
        const IndexRange a = tiles.firstOf(tile);
        for (std::uint64_t item = a.begin + threadIdx.x; item < a.end; item += blockDim.x) {
            first(item);
        }
        __syncthreads();
        const IndexRange b = tiles.secondOf(tile);
        for (std::uint64_t item = b.begin + threadIdx.x; item < b.end; item += blockDim.x) {
            second(item);
        }
    }
}

inline std::string textOf(cudaError_t error, const char* what)
{
    return error == cudaSuccess ? std::string() : std::string(what) + ": CUDA says " + cudaGetErrorString(error);
}

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
        cudaFree(m_data);
        m_data = nullptr;
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
        return from == nullptr || m_count == 0
                   ? cudaSuccess
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

/// Blocks for so many threads; an empty grid is none.
inline std::uint32_t blocksFor(std::uint64_t threads)
{
    return static_cast<std::uint32_t>(gridExtent(ceilDivide(threads, kThreads), kMaxGridX));
}

/// Bits that tell so many ids apart.
inline int bitsFor(std::uint64_t count)
{
    int bits = 1;
    while (bits < 32 && (count - 1) >> bits != 0) {
        ++bits;
    }
    return bits;
}

/// Stable sort of visits by row id; without memory it says how much it needs.
template <class T, class W>
cudaError_t sortVisits(const PassBuffers<T, W>& b, void* memory, std::size_t& bytes, cudaStream_t stream)
{
    return cub::DeviceRadixSort::SortPairs(memory, bytes, b.fused.visits, b.fused.sorted, b.fused.places,
                                           b.fused.sortedPlaces, static_cast<std::int64_t>(b.visits()), 0,
                                           bitsFor(b.neurons), stream);
}

/// Puts what a step consists of on a stream; keeps the first error.
class CudaLauncher
{
public:
    CudaLauncher(cudaStream_t stream, const DeviceArray<std::uint8_t>& sortMemory)
        : m_stream(stream), m_sortMemory(sortMemory)
    {}

    template <class Body>
    void items(std::uint64_t count, const Body& body)
    {
        launch(blocksFor(count), forItems<Body>, count, body);
    }
    template <class Body>
    void lanes(std::uint64_t count, const Body& body)
    {
        launch(blocksFor(count * kScoreLanes), forItemsInLanes<Body>, count, body);
    }
    template <class First, class Second>
    void tiles(const Tiles& all, const First& first, const Second& second)
    {
        launch(static_cast<std::uint32_t>(gridExtent(all.count(), kMaxGridX)), forTiles<First, Second>, all, first,
               second);
    }
    template <class T, class W>
    void sortVisits(const PassBuffers<T, W>& b)
    {
        std::size_t bytes = m_sortMemory.size();
        note(b.visits() > 0 ? device::sortVisits(b, m_sortMemory.data(), bytes, m_stream) : cudaSuccess);
    }
    template <class T>
    void zero(T* array, std::uint64_t count)
    {
        note(count > 0 ? cudaMemsetAsync(array, 0, count * sizeof(T), m_stream) : cudaSuccess);
    }
    [[nodiscard]] cudaError_t error() const { return m_error; }

private:
    template <class... Arguments>
    void launch(std::uint32_t blocks, void (*kernel)(Arguments...), const Arguments&... arguments)
    {
        if (blocks > 0) {
            cudaLaunchConfig_t config{};
            config.gridDim = dim3(blocks);
            config.blockDim = dim3(kThreads);
            config.stream = m_stream;
            note(cudaLaunchKernelEx(&config, kernel, arguments...));
        }
    }
    void note(cudaError_t error) { m_error = m_error == cudaSuccess ? error : m_error; }

    cudaStream_t m_stream;
    const DeviceArray<std::uint8_t>& m_sortMemory;
    cudaError_t m_error = cudaSuccess;
};

} // namespace retro::lut::device
