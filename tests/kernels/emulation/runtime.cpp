// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/emulation/device.h"

#include <algorithm>
#include <cstring>

using retro::emulation::Device;

namespace
{

constexpr unsigned kMostThreads = 1024;

bool isRight(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind)
{
    const Device& device = Device::get();
    return (kind == cudaMemcpyDeviceToHost ? device.isOnHost(to, bytes) : device.isOnDevice(to, bytes)) &&
           (kind == cudaMemcpyHostToDevice ? device.isOnHost(from, bytes) : device.isOnDevice(from, bytes));
}

} // namespace

const char* cudaGetErrorString(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorInvalidConfiguration:
        return "invalid configuration argument";
    case cudaErrorInvalidDeviceFunction:
        return "invalid device function";
    case cudaErrorInvalidResourceHandle:
        return "invalid resource handle";
    case cudaErrorLaunchFailure:
        return Device::get().fault().c_str();
    case cudaErrorStreamCaptureUnsupported:
        return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated:
        return "operation failed due to a previous error during capture";
    case cudaErrorStreamCaptureUnjoined:
        return "capturing stream has unjoined work";
    case cudaErrorStreamCaptureIsolation:
        return "dependency created on uncaptured work in another stream";
    }
    return "unknown error";
}

cudaError_t cudaGetDeviceCount(int* count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device)
{
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device)
{
    std::strcpy(properties->name, "emulated device");
    return device == 0 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) { return Device::get().allocate(memory, bytes); }

cudaError_t cudaFree(void* memory) { return Device::get().release(memory); }

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind)
{
    const cudaError_t failed = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    return failed != cudaSuccess ? failed : Device::get().wait();
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (!isRight(to, from, bytes, kind)) {
        return cudaErrorInvalidValue;
    }
    Device::get().note(kind == cudaMemcpyHostToDevice ? 'i' : 'o');
    return Device::get().put(stream, cudaGraphNodeTypeMemcpy, [=] {
        std::memcpy(to, from, bytes);
        return std::string();
    });
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream)
{
    if (!Device::get().isOnDevice(memory, bytes)) {
        return cudaErrorInvalidValue;
    }
    return Device::get().put(stream, cudaGraphNodeTypeMemset, [=] {
        std::memset(memory, value, bytes);
        return std::string();
    });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned)
{
    *stream = Device::get().make<retro::emulation::Stream>();
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) { return Device::get().destroy(stream); }

cudaError_t cudaStreamSynchronize(cudaStream_t) { return Device::get().wait(); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event) { return Device::get().follow(stream, event); }

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode)
{
    return Device::get().beginCapture(stream);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph)
{
    return Device::get().endCapture(stream, graph);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned)
{
    *event = Device::get().make<retro::emulation::Event>();
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    // What is still to be recorded is recorded first.
    const cudaError_t failed = Device::get().finish();
    const cudaError_t unknown = Device::get().destroy(event);
    return failed != cudaSuccess ? failed : unknown;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return Device::get().record(event, stream); }

cudaError_t cudaEventSynchronize(cudaEvent_t) { return Device::get().wait(); }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop)
{
    *milliseconds = std::chrono::duration<float, std::milli>(stop->time - start->time).count();
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long)
{
    *executable = Device::get().make<retro::emulation::GraphExecutable>();
    (*executable)->graph = *graph;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream)
{
    return Device::get().launch(executable, stream);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) { return Device::get().destroy(executable); }

cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return Device::get().destroy(graph); }

cudaError_t retro::emulation::launchKernel(const cudaLaunchConfig_t& config, std::function<void()> thread)
{
    const bool isFlat = config.gridDim.y == 1 && config.gridDim.z == 1 && config.blockDim.y == 1 &&
                        config.blockDim.z == 1 && config.dynamicSmemBytes == 0;
    if (!isFlat || config.gridDim.x == 0 || config.gridDim.x > 0x7FFFFFFF || config.blockDim.x == 0 ||
        config.blockDim.x > kMostThreads) {
        return cudaErrorInvalidConfiguration;
    }
    Device& device = Device::get();
    device.note('k');
    return device.put(config.stream, cudaGraphNodeTypeKernel,
                      [&device, grid = config.gridDim, block = config.blockDim, thread = std::move(thread)] {
                          Dimensions held = grid;
                          held.x = std::min(grid.x, device.behaviour().mostBlocks);
                          return runGrid(held, block, thread, device.order());
                      });
}
