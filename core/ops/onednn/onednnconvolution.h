// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/convolution.h"
#include "core/tensor/tensor.h"

#include <memory>
#include <span>

namespace retro::ops::onednn
{

/// Which way a convolution is walked: from the image to the result, or back by the transposed map.
enum class Direction : std::uint8_t { Forward, Transposed };

/// One geometry of a convolution in the library, with weights in the library's own layout; image and result are dense
/// in channels-last order, and are put into another one for the time of the call where that is faster.
class PackedConvolution
{
public:
    /// Invalid (isValid() is false) when the library has no implementation. No extent may be 0. `addsBias` is for
    /// Forward alone.
    PackedConvolution(const reference::ConvolutionShape& shape, Direction direction, bool addsBias = false);
    ~PackedConvolution();
    PackedConvolution(PackedConvolution&&) noexcept;

    [[nodiscard]] bool isValid() const { return m_state != nullptr; }
    /// Row-major weights in the library's layout: a list of numbers, 0 where the library fills up.
    [[nodiscard]] tensor::Tensor pack(const float* weight) const;
    /// Forward: image in, result out; Transposed: result in, image out. `weights` come from pack(); `bias`: one number
    /// per channel of the result where the geometry adds it, else null.
    void run(const float* in, const tensor::Tensor& weights, float* out, const float* bias = nullptr) const;
    /// As run(), into as many images or results as `outs` has, each with an equal part of the channels.
    void runApart(const float* in, const tensor::Tensor& weights, std::span<float* const> outs) const;

private:
    struct State;
    void execute(const float* in, const tensor::Tensor& weights, float* out, const float* bias = nullptr) const;
    /// One of the library's calls, in its own layout.
    void compute(std::size_t call, const float* in, const tensor::Tensor& weights, float* out, const float* bias) const;
    std::unique_ptr<State> m_state;
};

} // namespace retro::ops::onednn
