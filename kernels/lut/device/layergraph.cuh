// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace retro::lut::device
{

/// The first of the errors.
inline cudaError_t firstOf(std::initializer_list<cudaError_t> all)
{
    for (const cudaError_t one : all) {
        if (one != cudaSuccess) {
            return one;
        }
    }
    return cudaSuccess;
}

/// The CUDA graph of a layer: its forward pass and, behind it, its backward pass, captured and instantiated once. Each
/// launch runs one of the two; the nodes of the other are switched off in the executable graph, not captured again.
class LayerGraph
{
public:
    LayerGraph() = default;
    LayerGraph(const LayerGraph&) = delete;
    LayerGraph& operator=(const LayerGraph&) = delete;
    ~LayerGraph()
    {
        if (m_executable != nullptr) {
            cudaGraphExecDestroy(m_executable);
        }
        if (m_graph != nullptr) {
            cudaGraphDestroy(m_graph);
        }
    }

    /// `record(isBackward)` puts a pass on the streams; it starts and ends on `stream`.
    template <class Record>
    cudaError_t capture(cudaStream_t stream, const Record& record)
    {
        cudaError_t failed = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
        if (failed != cudaSuccess) {
            return failed;
        }
        failed = record(false);
        failed = failed != cudaSuccess ? failed : takeForward(stream);
        failed = failed != cudaSuccess ? failed : record(true);
        failed = firstOf({failed, cudaStreamEndCapture(stream, &m_graph)});
        failed = failed != cudaSuccess ? failed : takeBackward();
        return failed != cudaSuccess ? failed : cudaGraphInstantiate(&m_executable, m_graph, 0);
    }

    /// Runs one pass behind what is on the stream.
    cudaError_t launch(bool isBackward, cudaStream_t stream)
    {
        const cudaError_t failed =
            firstOf({enable(m_forward, !isBackward, m_hasForward), enable(m_backward, isBackward, m_hasBackward)});
        return failed != cudaSuccess ? failed : cudaGraphLaunch(m_executable, stream);
    }

private:
    using Nodes = std::vector<cudaGraphNode_t>;

    static cudaError_t nodesOf(cudaGraph_t graph, Nodes& nodes)
    {
        std::size_t count = 0;
        const cudaError_t failed = cudaGraphGetNodes(graph, nullptr, &count);
        nodes.resize(count);
        return failed != cudaSuccess || count == 0 ? failed : cudaGraphGetNodes(graph, nodes.data(), &count);
    }

    /// What was captured so far.
    cudaError_t takeForward(cudaStream_t stream)
    {
        cudaStreamCaptureStatus status{};
        cudaGraph_t graph = nullptr;
#if CUDART_VERSION < 13000
        const cudaError_t failed = cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, &graph);
#else
        const cudaError_t failed = cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph);
#endif
        return failed != cudaSuccess ? failed : nodesOf(graph, m_forward);
    }

    /// The rest.
    cudaError_t takeBackward()
    {
        const cudaError_t failed = nodesOf(m_graph, m_backward);
        const auto isForward = [&](cudaGraphNode_t node) {
            return std::find(m_forward.begin(), m_forward.end(), node) != m_forward.end();
        };
        m_backward.erase(std::remove_if(m_backward.begin(), m_backward.end(), isForward), m_backward.end());
        return failed;
    }

    /// Switches nodes on or off where they are not.
    cudaError_t enable(const Nodes& nodes, bool wanted, bool& is)
    {
        cudaError_t failed = cudaSuccess;
        for (std::size_t i = 0; i < nodes.size() && wanted != is && failed == cudaSuccess; ++i) {
            failed = cudaGraphNodeSetEnabled(m_executable, nodes[i], wanted ? 1 : 0);
        }
        is = failed == cudaSuccess ? wanted : is;
        return failed;
    }

    cudaGraph_t m_graph = nullptr; ///< kept: its nodes name those of the executable graph
    cudaGraphExec_t m_executable = nullptr;
    Nodes m_forward;
    Nodes m_backward;
    bool m_hasForward = true;
    bool m_hasBackward = true;
};

} // namespace retro::lut::device
