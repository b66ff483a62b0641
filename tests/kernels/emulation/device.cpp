// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/emulation/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace retro::emulation
{

namespace
{

/// What an array holds before anything is written to it: NaN as floats, −1 as integers.
constexpr int kUnwritten = 0xFF;

void merge(std::vector<cudaGraphNode_t>& into, const std::vector<cudaGraphNode_t>& more)
{
    for (const cudaGraphNode_t node : more) {
        if (std::find(into.begin(), into.end(), node) == into.end()) {
            into.push_back(node);
        }
    }
}

/// The nodes and all that they come after.
std::set<cudaGraphNode_t> ancestors(std::vector<cudaGraphNode_t> nodes)
{
    std::set<cudaGraphNode_t> found;
    while (!nodes.empty()) {
        const cudaGraphNode_t node = nodes.back();
        nodes.pop_back();
        if (found.insert(node).second) {
            nodes.insert(nodes.end(), node->after.begin(), node->after.end());
        }
    }
    return found;
}

} // namespace

Device& Device::get()
{
    static Device device;
    return device;
}

void Device::setBehaviour(const Behaviour& behaviour)
{
    m_behaviour = behaviour;
    m_order.seed(behaviour.seed);
}

cudaError_t Device::allocate(void** memory, std::size_t bytes)
{
    if (m_capture) {
        return wait();
    }
    if (bytes > m_behaviour.memory - std::min(m_used, m_behaviour.memory)) {
        return cudaErrorMemoryAllocation;
    }
    *memory = std::malloc(bytes);
    std::memset(*memory, kUnwritten, bytes);
    m_memory[reinterpret_cast<std::uintptr_t>(*memory)] = bytes;
    m_used += bytes;
    return cudaSuccess;
}

cudaError_t Device::release(void* memory)
{
    if (memory == nullptr) {
        return cudaSuccess;
    }
    const auto found = m_memory.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found == m_memory.end()) {
        return cudaErrorInvalidValue;
    }
    const cudaError_t failed = finish();
    m_used -= found->second;
    m_memory.erase(found);
    std::free(memory);
    return failed;
}

bool Device::isOnDevice(const void* memory, std::size_t bytes) const
{
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    const auto after = m_memory.upper_bound(address);
    if (after == m_memory.begin()) {
        return false;
    }
    const auto& [start, size] = *std::prev(after);
    return address - start <= size && bytes <= size - (address - start);
}

bool Device::isOnHost(const void* memory, std::size_t bytes) const
{
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    return std::none_of(m_memory.begin(), m_memory.end(), [&](const auto& one) {
        return address < one.first + one.second && one.first < address + bytes;
    });
}

cudaError_t Device::put(cudaStream_t stream, cudaGraphNodeType type, std::function<std::string()> work)
{
    if (stream == nullptr || !stream->isCapturing) {
        m_work.push_back(std::move(work));
        return cudaSuccess;
    }
    m_capture->graph->nodes.push_back(std::make_shared<Node>(Node{type, std::move(work), stream->last}));
    stream->last = {m_capture->graph->nodes.back().get()};
    return cudaSuccess;
}

cudaError_t Device::finish()
{
    bool isWhole = true;
    for (; !m_work.empty(); m_work.pop_front()) {
        if (const std::string fault = m_work.front()(); !fault.empty()) {
            m_fault = fault;
            isWhole = false;
        }
    }
    return isWhole ? cudaSuccess : cudaErrorLaunchFailure;
}

cudaError_t Device::wait()
{
    if (m_capture) {
        m_capture->isSpoiled = true;
        return cudaErrorStreamCaptureUnsupported;
    }
    m_trace += 's';
    return finish();
}

cudaError_t Device::beginCapture(cudaStream_t stream)
{
    if (m_capture || stream == nullptr) {
        return cudaErrorStreamCaptureUnsupported;
    }
    m_capture = std::make_unique<Capture>();
    m_capture->origin = stream;
    m_capture->streams = {stream};
    m_capture->graph = make<Graph>();
    stream->isCapturing = true;
    stream->last.clear();
    return cudaSuccess;
}

cudaError_t Device::endCapture(cudaStream_t stream, cudaGraph_t* graph)
{
    if (!m_capture || m_capture->origin != stream) {
        return cudaErrorStreamCaptureUnsupported;
    }
    const bool isJoined = ancestors(stream->last).size() == m_capture->graph->nodes.size();
    const bool isSpoiled = m_capture->isSpoiled;
    for (const cudaStream_t one : m_capture->streams) {
        one->isCapturing = false;
        one->last.clear();
    }
    Graph* made = m_capture->graph;
    m_capture.reset();
    if (isSpoiled || !isJoined) {
        destroy(made);
        return isSpoiled ? cudaErrorStreamCaptureInvalidated : cudaErrorStreamCaptureUnjoined;
    }
    *graph = made;
    return cudaSuccess;
}

cudaError_t Device::record(cudaEvent_t event, cudaStream_t stream)
{
    event->isCaptured = stream != nullptr && stream->isCapturing;
    if (event->isCaptured) {
        event->last = stream->last;
        return cudaSuccess;
    }
    return put(stream, cudaGraphNodeTypeKernel, [event] {
        event->time = std::chrono::steady_clock::now();
        return std::string();
    });
}

cudaError_t Device::follow(cudaStream_t stream, cudaEvent_t event)
{
    if (event->isCaptured != (m_capture != nullptr)) {
        return cudaErrorStreamCaptureIsolation;
    }
    if (event->isCaptured) {
        m_capture->streams.insert(stream);
        stream->isCapturing = true;
        merge(stream->last, event->last);
    }
    return cudaSuccess;
}

cudaError_t Device::launch(cudaGraphExec_t graph, cudaStream_t stream)
{
    if (m_capture) {
        return cudaErrorStreamCaptureUnsupported;
    }
    m_trace += 'g';
    return put(stream, cudaGraphNodeTypeKernel, [this, nodes = graph->graph] { return runGraph(nodes); });
}

std::string Device::runGraph(const Graph& graph)
{
    std::vector<cudaGraphNode_t> left;
    for (const auto& node : graph.nodes) {
        left.push_back(node.get());
    }
    std::set<cudaGraphNode_t> done;
    const auto canRun = [&](cudaGraphNode_t node) {
        return std::all_of(node->after.begin(), node->after.end(),
                           [&](cudaGraphNode_t before) { return done.count(before) != 0; });
    };
    std::string fault;
    while (!left.empty() && fault.empty()) {
        std::shuffle(left.begin(), left.end(), m_order);
        const auto next = std::find_if(left.begin(), left.end(), canRun);
        fault = (*next)->run();
        done.insert(*next);
        left.erase(next);
    }
    return fault;
}

} // namespace retro::emulation
