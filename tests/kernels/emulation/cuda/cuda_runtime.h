// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/kernels/emulation/grid.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>

// The calls of CUDA's runtime interface that the device code of this project uses, under their own names and with their
// own meaning, for a device that is emulated on the host. It shows indices, arithmetic, bounds, and whether streams,
// events and graphs keep their order; it shows nothing of the memory model, of atomics or of speed. Shared memory is
// missing, as no kernel has it: one that does will not compile here.

#define __host__
#define __device__
#define __global__

namespace retro::emulation
{
struct Stream;
struct Event;
struct Node;
struct Graph;
struct GraphExecutable;
} // namespace retro::emulation

using cudaStream_t = retro::emulation::Stream*;
using cudaEvent_t = retro::emulation::Event*;
using cudaGraphNode_t = const retro::emulation::Node*;
using cudaGraph_t = retro::emulation::Graph*;
using cudaGraphExec_t = retro::emulation::GraphExecutable*;

enum cudaError_t {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorInvalidConfiguration,
    cudaErrorInvalidDeviceFunction,
    cudaErrorInvalidResourceHandle,
    cudaErrorLaunchFailure,
    cudaErrorStreamCaptureUnsupported,
    cudaErrorStreamCaptureInvalidated,
    cudaErrorStreamCaptureUnjoined,
    cudaErrorStreamCaptureIsolation,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };
enum cudaGraphNodeType { cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemset, cudaGraphNodeTypeMemcpy };

inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDisableTiming = 2;

struct cudaDeviceProp
{
    char name[256];
};

struct dim3 : retro::emulation::Dimensions
{
    dim3(unsigned sizeX = 1, unsigned sizeY = 1, unsigned sizeZ = 1) : retro::emulation::Dimensions{sizeX, sizeY, sizeZ}
    {}
};

struct cudaLaunchConfig_t
{
    dim3 gridDim;
    dim3 blockDim;
    std::size_t dynamicSmemBytes;
    cudaStream_t stream;
};

extern retro::emulation::Dimensions threadIdx;
extern retro::emulation::Dimensions blockIdx;
extern retro::emulation::Dimensions blockDim;
extern retro::emulation::Dimensions gridDim;
inline constexpr unsigned warpSize = retro::emulation::kWarp;

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);

cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop);

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

namespace retro::emulation
{
/// Puts a grid of threads on the stream of a launch.
cudaError_t launchKernel(const cudaLaunchConfig_t& config, std::function<void()> thread);
} // namespace retro::emulation

template <class... Expected, class... Given>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Expected...), Given&&... arguments)
{
    // Arguments are copied when a kernel is launched, not when it runs.
    return retro::emulation::launchKernel(
        *config, [kernel, copies = std::tuple<Expected...>(arguments...)] { std::apply(kernel, copies); });
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, unsigned width)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = retro::emulation::exchangeDown(mask, bits, delta, width);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

inline void __syncthreads() { retro::emulation::waitForBlock(); }
