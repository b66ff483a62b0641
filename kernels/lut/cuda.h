// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/run.h"

#include <memory>

namespace retro::lut
{

/// A layer on a CUDA device, for one size of batch: weights and buffers are there, and each pass is one CUDA graph of
/// two streams. Runs the fused path in float. Give it to one thread at a time.
class CudaLayer
{
public:
    /// Copies the layer to the device. Errors: Unavailable (not built, or no device), TooLarge (an overflow), Device
    /// (it does not fit the device's memory).
    static Status create(const Layer<float>& layer, std::uint64_t batch, std::unique_ptr<CudaLayer>& made);
    CudaLayer(const CudaLayer&) = delete;
    CudaLayer& operator=(const CudaLayer&) = delete;
    ~CudaLayer();

    /// As lut::forward. Errors: BadSize (also another batch than the layer was made for), Device.
    Status forward(const ForwardCall<float>& call);
    /// As lut::backward.
    Status backward(const BackwardCall<float>& call);

private:
    struct State;
    explicit CudaLayer(std::unique_ptr<State> state);

    std::unique_ptr<State> m_state;
};

} // namespace retro::lut
