// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <initializer_list>

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

/// A pass of a layer as a CUDA graph: captured and instantiated once, launched as often as one likes. Each pass has a
/// graph of its own. Parts of one graph that are switched off in turn do not do: what is behind a launch on the stream
/// may then start before the last kernel of the part that is on has ended (seen with switched off memsets at the end).
class PassGraph
{
public:
    PassGraph() = default;
    PassGraph(const PassGraph&) = delete;
    PassGraph& operator=(const PassGraph&) = delete;
    ~PassGraph()
    {
        if (m_executable != nullptr) {
            cudaGraphExecDestroy(m_executable);
        }
        if (m_graph != nullptr) {
            cudaGraphDestroy(m_graph);
        }
    }

    /// `record()` puts the pass on the streams; it starts and ends on `stream`.
    template <class Record>
    cudaError_t capture(cudaStream_t stream, const Record& record)
    {
        cudaError_t failed = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
        if (failed != cudaSuccess) {
            return failed;
        }
        failed = record();
        failed = firstOf({failed, cudaStreamEndCapture(stream, &m_graph)});
        return failed != cudaSuccess ? failed : cudaGraphInstantiate(&m_executable, m_graph, 0);
    }

    /// Runs the pass behind what is on the stream.
    cudaError_t launch(cudaStream_t stream) { return cudaGraphLaunch(m_executable, stream); }

private:
    cudaGraph_t m_graph = nullptr;
    cudaGraphExec_t m_executable = nullptr;
};

} // namespace retro::lut::device
