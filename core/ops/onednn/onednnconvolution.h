// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/convolution.h"

#include <memory>

namespace retro::ops::onednn
{

/// Which way a convolution is walked: from the image to the result, or back by the transposed map.
enum class Direction : std::uint8_t { Forward, Transposed };

/// A convolution with constant weights in the library's own layout; image and result are dense in channels-last order.
class PackedConvolution
{
public:
    /// Packs row-major weights. Invalid (isValid() is false) when the library has no implementation. No extent may be
    /// 0.
    PackedConvolution(const reference::ConvolutionShape& shape, Direction direction, const float* weight);
    ~PackedConvolution();
    PackedConvolution(PackedConvolution&&) noexcept;

    [[nodiscard]] bool isValid() const { return m_state != nullptr; }
    /// Forward: image in, result out; Transposed: result in, image out.
    void run(const float* in, float* out) const;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace retro::ops::onednn
