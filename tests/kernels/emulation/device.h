// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/kernels/emulation/cuda/cuda_runtime.h"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// The state behind the calls of cuda_runtime.h. Memory of the device is memory of the host, but full of what nobody
// computed, and copies are held to its bounds. Nothing that is put on a stream is done before the host waits for it. A
// graph's nodes are done in a random order that keeps what was captured. One thread of the host.
namespace retro::emulation
{

/// How the device behaves; results may not depend on it.
struct Behaviour
{
    unsigned seed = 1;                         ///< of the order of nodes, blocks and threads
    unsigned mostBlocks = 0x7FFFFFFF;          ///< of a grid: what it cannot hold must be looped over
    std::size_t memory = std::size_t{1} << 30; ///< bytes
};

struct Node
{
    cudaGraphNodeType type = cudaGraphNodeTypeKernel;
    std::function<std::string()> run; ///< returns its fault
    std::vector<cudaGraphNode_t> after;
};

struct Graph
{
    std::vector<std::shared_ptr<Node>> nodes;
};

struct GraphExecutable
{
    Graph graph;
};

/// What is being captured.
struct Capture
{
    cudaStream_t origin = nullptr;
    std::set<cudaStream_t> streams; ///< that joined
    cudaGraph_t graph = nullptr;
    bool isSpoiled = false; ///< by a call that no capture can hold
};

struct Stream
{
    bool isCapturing = false;
    std::vector<cudaGraphNode_t> last; ///< what its next node comes after
};

struct Event
{
    bool isCaptured = false;
    std::vector<cudaGraphNode_t> last;
    std::chrono::steady_clock::time_point time;
};

class Device
{
public:
    /// The only one.
    static Device& get();

    /// From now on.
    void setBehaviour(const Behaviour& behaviour);

    cudaError_t allocate(void** memory, std::size_t bytes);
    cudaError_t release(void* memory);
    /// True when the range lies in one allocation.
    [[nodiscard]] bool isOnDevice(const void* memory, std::size_t bytes) const;
    /// True when the range touches no allocation.
    [[nodiscard]] bool isOnHost(const void* memory, std::size_t bytes) const;

    /// Puts work on a stream, or into what is captured.
    cudaError_t put(cudaStream_t stream, cudaGraphNodeType type, std::function<std::string()> work);
    /// Does all that was put on streams.
    cudaError_t finish();
    /// finish, as the host asks for it; what is captured is spoiled by it.
    cudaError_t wait();

    cudaError_t beginCapture(cudaStream_t stream);
    cudaError_t endCapture(cudaStream_t stream, cudaGraph_t* graph);
    cudaError_t record(cudaEvent_t event, cudaStream_t stream);
    cudaError_t follow(cudaStream_t stream, cudaEvent_t event);
    /// Puts the nodes of a graph on a stream.
    cudaError_t launch(cudaGraphExec_t graph, cudaStream_t stream);

    /// One character for each call since the last `takeTrace`: i copy in, o copy out, g graph, k kernel, s wait of the
    /// host.
    [[nodiscard]] std::string takeTrace() { return std::exchange(m_trace, {}); }
    void note(char call) { m_trace += call; }
    /// How many of a kind there are.
    template <class T>
    [[nodiscard]] std::size_t count() const
    {
        return std::get<std::set<T*>>(m_things).size();
    }
    [[nodiscard]] std::size_t allocations() const { return m_memory.size(); }
    /// What the last fault was.
    [[nodiscard]] const std::string& fault() const { return m_fault; }

    [[nodiscard]] const Behaviour& behaviour() const { return m_behaviour; }
    [[nodiscard]] std::mt19937& order() { return m_order; }

    template <class T>
    T* make()
    {
        T* thing = new T;
        std::get<std::set<T*>>(m_things).insert(thing);
        return thing;
    }
    template <class T>
    cudaError_t destroy(T* thing)
    {
        if (std::get<std::set<T*>>(m_things).erase(thing) == 0) {
            return cudaErrorInvalidResourceHandle;
        }
        delete thing;
        return cudaSuccess;
    }

private:
    std::string runGraph(const Graph& graph);

    Behaviour m_behaviour;
    std::mt19937 m_order{1};
    std::map<std::uintptr_t, std::size_t> m_memory; ///< bytes by address
    std::size_t m_used = 0;
    std::deque<std::function<std::string()>> m_work;
    std::unique_ptr<Capture> m_capture;
    std::tuple<std::set<Stream*>, std::set<Event*>, std::set<Graph*>, std::set<GraphExecutable*>> m_things;
    std::string m_trace;
    std::string m_fault;
};

} // namespace retro::emulation
