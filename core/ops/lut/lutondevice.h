// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/lut/lut.h"
#include "kernels/lut/cuda.h"

#include <memory>
#include <mutex>
#include <vector>

namespace retro::ops
{

/// A LUT layer's passes on the current CUDA device, in float32. The weights go there at the first pass, and again only
/// when other ones are given. Calls may come from several threads; one runs at a time. Throws Failure (Engine) where
/// the layer does not fit the device; the message says what to do.
class LutOnDevice
{
public:
    LutOnDevice(const LutStructure& layer, std::uint64_t batch) : m_layer(layer), m_batch(batch) {}

    /// Row-major operands in float32; `codes` may be invalid. Shapes as of lut::forward. `seconds`, when it is given,
    /// gets those of each launch, measured behind the pass, one launch after another.
    void forward(const Tensor& input, const Tensor& weights, const Tensor& codes, std::span<float> output,
                 lut::Tape<float>* tape, std::vector<double>* seconds = nullptr);
    /// Gradients after a forward pass whose tape is given.
    void backward(const Tensor& weights, const Tensor& codes, const lut::BackwardCall<float>& call,
                  std::vector<double>* seconds = nullptr);
    /// Relevance after a forward pass whose tape is given.
    void relevance(const Tensor& weights, const Tensor& codes, const lut::RelevanceCall<float>& call);

private:
    lut::CudaLayer& onDevice(const Tensor& weights, const Tensor& codes);

    const LutStructure& m_layer;
    std::uint64_t m_batch;
    std::mutex m_mutex;
    Tensor m_weights; ///< what lies on the device; held, so that nothing else can take its address
    Tensor m_codes;
    std::unique_ptr<lut::CudaLayer> m_made;
};

} // namespace retro::ops
