// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/convolution.h"
#include "core/tensor/tensor.h"

#include <optional>
#include <span>

namespace retro::ops::onednn
{

/// The transposed map of a strided convolution as a convolution of stride 1. Of the taps of a window, an image position
/// i only ever meets those of its own phase (i + padBegin) mod stride. So the phases become channels: the image is cut
/// into blocks of stride × … × stride positions, each block is one position of a smaller result, and each
/// (phase, channel) is one filter with ⌈kernel / stride⌉ taps along each axis, 0 where a phase has one tap less.
/// A library that computes 8 or 16 channels at once wastes most of its work on an image of three; here there are
/// stride² times as many.
class PhasedTranspose
{
public:
    /// None where the map has groups or dilation, where no axis is strided, or where it is no gain: when the taps and
    /// channels to compute, filled up to whole registers, are not fewer.
    [[nodiscard]] static std::optional<PhasedTranspose> of(const reference::ConvolutionShape& shape);

    /// From what the transposed map reads (channels: its filters) to the blocks (filters: phase by phase, the
    /// channels).
    [[nodiscard]] const reference::ConvolutionShape& blocks() const { return m_blocks; }
    /// Row-major weights [filter][channel][tap] of the map as those of blocks(), float.
    [[nodiscard]] tensor::Tensor weights(const float* weight) const;
    /// From blocks() in channels-last order to the image in channels-last order: to several images, its channels in
    /// equal parts.
    void gather(const float* blocks, std::span<float* const> images) const;

private:
    explicit PhasedTranspose(const reference::ConvolutionShape& shape);

    reference::ConvolutionShape m_shape;
    reference::ConvolutionShape m_blocks;
    std::int64_t m_phases = 1;
};

} // namespace retro::ops::onednn
