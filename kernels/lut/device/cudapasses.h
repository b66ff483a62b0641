// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/device/buffers.h"
#include "kernels/lut/kernelid.h"
#include "kernels/lut/tablerule.h"

#include <cstdint>
#include <memory>
#include <string>

// What lies between the host's side of the CUDA back end and the code that nvcc compiles; C++17, like all that nvcc
// sees.
namespace retro::lut::device
{

/// One launch of a schedule.
struct Step
{
    KernelId kernel = KernelId::CheckDetectors;
    Variant variant = Variant::Only;
    std::uint32_t stream = 0;
    std::uint64_t waitsFor = 0; ///< bit i: step i must be done, which is on another stream
};

/// Most steps of a pass: what the bits of `waitsFor` hold.
inline constexpr std::uint64_t kMaxSteps = 64;
/// Most streams of a pass.
inline constexpr std::uint32_t kMaxStreams = 3;

/// The launches of a pass, in their order.
struct Steps
{
    const Step* first = nullptr;
    std::uint64_t count = 0;
};

/// A layer in host memory with the sizes of its arrays, the batch that passes will have, and what they launch.
struct HostLayer
{
    DeviceLayer<float> layer{}; ///< pointers into host memory; `weights` is null when rows have 16 bits
    InputUses inputs;           ///< in host memory
    std::uint64_t uses = 0;     ///< how many
    RowType rowType = RowType::Real;
    const std::uint16_t* narrowWeights = nullptr;
    std::uint64_t weights = 0;
    std::uint64_t neurons = 0;
    std::uint64_t codes = 0;
    std::uint64_t batch = 0;
    bool isDocumented = false;
    DocumentedScratch<float> documented; ///< groups of synapses in host memory, and sizes; the rest is null
    std::uint64_t groups = 0;
    Steps forward;
    Steps backward;
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
    MainEvent* mainEvents = nullptr; ///< all places, of the documented path on a sequence
    MainEvent* otherEvents = nullptr;
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
    const MainEvent* mainEvents = nullptr;
    const MainEvent* otherEvents = nullptr;
};

/// Gradients of a pass in host memory; null ones are not copied back.
struct HostGradients
{
    float* inputs = nullptr;
    float* weights = nullptr;
    float* codes = nullptr;
};

/// What sharing relevance takes and gives, in host memory; results that are null are not wanted. Shapes as in
/// RelevanceCall.
struct HostRelevance
{
    TableRule rule = TableRule::FlipContrast;
    float epsilon = 0;
    const float* input = nullptr;
    const float* output = nullptr;
    const float* outputRelevance = nullptr;
    GivenTape tape;
    const double* shapley = nullptr; ///< shapleyWeights() of them
    std::uint64_t shapleyCount = 0;
    float* inputs = nullptr;
    float* codes = nullptr;
    float* tables = nullptr;
    float* bits = nullptr;
    float* pairMap = nullptr;
    float* unplaced = nullptr;
};

/// A layer on the device, and its two passes, each as a CUDA graph. Functions return what went wrong, or nothing.
class CudaPasses
{
public:
    /// Copies the layer to the current device and captures both passes.
    static std::string make(const HostLayer& layer, std::unique_ptr<CudaPasses>& passes);
    CudaPasses() = default;
    CudaPasses(const CudaPasses&) = delete;
    CudaPasses& operator=(const CudaPasses&) = delete;
    virtual ~CudaPasses() = default;

    /// Waits only for its end.
    virtual std::string forward(const float* input, float* output, const HostTape& tape) = 0;
    /// Of the forward pass that filled the tape.
    virtual std::string backward(const float* outputGradients, const GivenTape& tape,
                                 const HostGradients& gradients) = 0;
    /// Shares relevance after the forward pass that filled the tape.
    virtual std::string relevance(const HostRelevance& call) = 0;
    /// Runs the steps of a pass one after another on what is on the device, with the device's clock around each:
    /// seconds[i] = the least of `runs`.
    virtual std::string time(bool isBackward, int runs, double* seconds) = 0;
};

/// Why there is no device to run on; empty when there is one.
std::string deviceProblem();

/// Name of the current device.
std::string deviceName();

/// Seconds of a copy of so many bytes within the device's memory, by its clock: the least of `runs`.
std::string timeCopy(std::uint64_t bytes, int runs, double& seconds);

/// Where these functions are in a back end that is a file of its own (RETRO_CUDA_FILE), which is loaded where CUDA's
/// run time is on the machine.
struct BackEnd
{
    decltype(&CudaPasses::make) make = nullptr;
    decltype(&retro::lut::device::deviceProblem) deviceProblem = nullptr;
    decltype(&retro::lut::device::deviceName) deviceName = nullptr;
    decltype(&retro::lut::device::timeCopy) timeCopy = nullptr;
};

} // namespace retro::lut::device
