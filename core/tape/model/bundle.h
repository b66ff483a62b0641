// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/operator.h"
#include "core/tensor/tensor.h"

#include <utility>
#include <vector>

namespace retro::tape
{

/// A value of a tape over real tensors: the one tensor of a leaf or of a node's result, or all results of a node with
/// several. In a slot an invalid tensor stands for zeros.
struct Bundle
{
    std::vector<tensor::Tensor> tensors;

    Bundle() = default;
    explicit Bundle(tensor::Tensor tensor) { tensors.push_back(std::move(tensor)); }
    explicit Bundle(std::vector<tensor::Tensor> all) : tensors(std::move(all)) {}

    [[nodiscard]] const tensor::Tensor& only() const { return tensors.front(); }
    /// Equal shapes and elements by value: −0 equals 0, NaN equals nothing, an invalid tensor equals zeros.
    [[nodiscard]] bool operator==(const Bundle& other) const;
    /// Equal shapes and bits of every element; an invalid tensor is only equal to another one.
    [[nodiscard]] bool bitEqual(const Bundle& other) const;
};

template <>
struct ValueTraits<Bundle>
{
    /// Equal shapes.
    static bool sameShape(const Bundle& a, const Bundle& b);
    /// For messages.
    static std::string shapeText(const Bundle& a);
    /// Tensor by tensor; an invalid one adds nothing.
    static Bundle add(const Bundle& accumulator, const Bundle& part);
    /// Zeros of the shapes; invalid for what is neither float32 nor float64.
    static Bundle zeroLike(const Bundle& a);
};

} // namespace retro::tape
