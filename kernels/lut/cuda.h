// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/relevance.h"
#include "kernels/lut/run.h"

#include <memory>

namespace retro::lut
{

/// What a layer on a device is made for.
struct CudaOptions
{
    Path path = Path::Fused;
    std::uint64_t scratchLimit = kScratchLimit; ///< of the documented path
};

/// A layer on a CUDA device, for one size of batch: weights and buffers are there, rows of 16 bits as they are. Each
/// pass is a CUDA graph that has the schedule's launches on their streams. Either path, in float. Give it to one thread
/// at a time.
class CudaLayer
{
public:
    /// Copies the layer to the device. Errors: Unavailable (not built, or no device), TooLarge (an overflow, or scratch
    /// of the documented path beyond the limit), Device (it does not fit the device's memory).
    static Status create(const Layer<float>& layer, std::uint64_t batch, std::unique_ptr<CudaLayer>& made,
                         const CudaOptions& options = {});
    CudaLayer(const CudaLayer&) = delete;
    CudaLayer& operator=(const CudaLayer&) = delete;
    ~CudaLayer();

    /// As lut::forward. Errors: BadSize (also another batch than the layer was made for), Device.
    Status forward(const ForwardCall<float>& call);
    /// As lut::backward.
    Status backward(const BackwardCall<float>& call);
    /// As lut::relevance; values differ from its within rounding. Errors as there, and Device.
    Status relevance(const RelevanceCall<float>& call);
    /// Seconds of each launch of a pass on what the last pass left on the device, one launch after another, by the
    /// device's clock: the least of `runs`. Error: Device.
    Status time(Pass pass, int runs, std::vector<double>& seconds);

private:
    struct State;
    explicit CudaLayer(std::unique_ptr<State> state);

    std::unique_ptr<State> m_state;
};

/// A device, and how fast it copies within its memory.
struct CudaDevice
{
    std::string name;
    double copyBytesPerSecond = 0; ///< read and written, together
};

/// The current device, measured. Errors: Unavailable, Device.
Status measureDevice(CudaDevice& device);

} // namespace retro::lut
