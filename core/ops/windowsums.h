// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/structure.h"
#include "core/tensor/tensor.h"

namespace retro::ops
{

/// An operator that gives the winners of windows, and can also sum over its windows and hand back to what they read:
/// MaxPool and GlobalMaxPool, ReduceMax and ReduceMin (a window is what is reduced), TopK (each result has its line).
class WindowSums
{
public:
    virtual ~WindowSums() = default;
    /// True where the smallest of a window wins in place of the largest.
    [[nodiscard]] virtual bool smallestWins() const { return false; }
    /// Sum of x over each window, in the shape of the result; padding counts nothing.
    [[nodiscard]] virtual tensor::Tensor sumWindows(const tensor::Tensor& x) const = 0;
    /// The transposed map: each element gets s of every window that reads it, in the shape of the operand.
    [[nodiscard]] virtual tensor::Tensor spreadWindows(const tensor::Tensor& s) const = 0;
    /// s of each window shared among what it reads of x by softmax(beta·x) over the window, by softmax(−beta·x) where
    /// the smallest wins, in the shape of the operand.
    [[nodiscard]] virtual tensor::Tensor shareBySoftmax(const tensor::Tensor& s, const tensor::Tensor& x,
                                                        double beta) const = 0;
    /// The transpose of shareBySoftmax(): the mean of t (x's shape) over each window by those weights, in the shape of
    /// the result; 0 for a window of padding.
    [[nodiscard]] virtual tensor::Tensor averageBySoftmax(const tensor::Tensor& t, const tensor::Tensor& x,
                                                          double beta) const = 0;
};

/// The windows of an operator that has them; null for all else.
[[nodiscard]] inline const WindowSums* windowsOf(const Structure& structure)
{
    const bool mayHave = structure.kind() == StructureKind::MaxPool || structure.kind() == StructureKind::ShapeMap;
    return mayHave ? dynamic_cast<const WindowSums*>(&structure) : nullptr;
}

} // namespace retro::ops
