// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/device/bodies.h"

#include <cstdint>
#include <memory>
#include <string>

// What lies between the host's side of the CUDA back end and the code that nvcc compiles; C++17, like all that nvcc
// sees.
namespace retro::lut::device
{

/// A layer in host memory, with the sizes of its arrays, and the batch that passes will have.
struct HostLayer
{
    DeviceLayer<float> layer; ///< pointers into host memory
    std::uint64_t weights = 0;
    std::uint64_t neurons = 0;
    std::uint64_t codes = 0;
    std::uint64_t batch = 0;
};

/// Where a tape of the host takes its arrays; all null = it wants none.
struct HostTape
{
    std::int32_t* rows = nullptr;
    float* deltas = nullptr;
    std::int32_t* bits = nullptr;
    std::int32_t* codeRows = nullptr;
    float* codeDeltas = nullptr;
    std::int32_t* codeBits = nullptr;
};

/// The tape of a forward pass in host memory.
struct GivenTape
{
    const std::int32_t* rows = nullptr;
    const float* deltas = nullptr;
    const std::int32_t* bits = nullptr;
    const std::int32_t* codeRows = nullptr;
    const float* codeDeltas = nullptr;
    const std::int32_t* codeBits = nullptr;
};

/// Gradients of a pass in host memory; null ones are not copied back.
struct HostGradients
{
    float* inputs = nullptr;
    float* weights = nullptr;
    float* codes = nullptr;
};

/// A layer on the device, and its two passes as CUDA graphs. Functions return what went wrong, or nothing.
class CudaPasses
{
public:
    /// Copies the layer to the current device and captures both passes.
    static std::string make(const HostLayer& layer, std::unique_ptr<CudaPasses>& passes);
    CudaPasses(const CudaPasses&) = delete;
    CudaPasses& operator=(const CudaPasses&) = delete;
    ~CudaPasses();

    /// Waits only for its end.
    std::string forward(const float* input, float* output, const HostTape& tape);
    /// Of the forward pass that filled the tape.
    std::string backward(const float* outputGradients, const GivenTape& tape, const HostGradients& gradients);

private:
    struct State;
    explicit CudaPasses(std::unique_ptr<State> state);

    std::unique_ptr<State> m_state;
};

/// Why there is no device to run on; empty when there is one.
std::string deviceProblem();

} // namespace retro::lut::device
