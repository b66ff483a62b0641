// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>
#include <optional>

namespace retro::engine
{

/// What ReLUs and maximum poolings look at in a tensor: one bit per element (is it above zero?), and, when there are
/// poolings, one more bit per element (did it win a window, or is it no number?) with these elements as they are.
///
/// expand() gives a tensor of the same shape in which every element has its sign, every winner its value, and every
/// other element is either the smallest number above zero or minus infinity: no greater than before, so that the same
/// elements win the same windows, and ties go the same way. Where the smallest element of a window wins, it is infinity
/// or zero: no less than before. Reverse rules of ReLU, MaxPool, ReduceMax and ReduceMin give the same bits on it.
class PackedSigns
{
public:
    /// `x` floating. `hasWon`, in the shape of x, is above zero at winners; none when nothing pools.
    PackedSigns(const tensor::Tensor& x, const std::optional<tensor::Tensor>& hasWon, bool smallestWins = false);

    [[nodiscard]] tensor::Tensor expand() const;
    /// Bytes that this takes.
    [[nodiscard]] std::int64_t bytes() const;

private:
    template <class T>
    void pack(const tensor::Tensor& x, const std::optional<tensor::Tensor>& hasWon);
    template <class T>
    [[nodiscard]] tensor::Tensor expandAs() const;

    tensor::DType m_type;
    tensor::Shape m_shape;
    bool m_smallestWins;
    tensor::Tensor m_positive; ///< 64 elements in each uint64, row-major
    tensor::Tensor m_won;      ///< the same; invalid without poolings
    tensor::Tensor m_winners;  ///< their values, row-major
};

} // namespace retro::engine
