// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/tensor/checkedshape.h"

#include <functional>

namespace retro::ops
{

/// Results of integers that are larger are not worked out while a model is bound: shapes and indices are small.
inline constexpr std::uint64_t kMaxKnownBytes = 64ULL << 20U;

/// Results that are known once the operator is bound: what follows from shapes (Shape), and what has a shape that
/// depends on data, to which the model is then bound (NonZero). Passes no relevance.
class Known final : public PassiveOperator
{
public:
    explicit Known(std::vector<Tensor> values) : m_values(std::move(values))
    {
        for (const Tensor& value : m_values) {
            m_outputTypes.push_back({value.dtype(), value.shape()});
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor>) const override { return m_values; }
    [[nodiscard]] std::vector<Tensor> knownResults() const override { return m_values; }

private:
    std::vector<Tensor> m_values;
};

/// One result that follows from constants alone but may be large (ConstantOfShape, Range): it is made for each pass,
/// and known before the run only when it is small. Passes no relevance.
class Made final : public PassiveOperator
{
public:
    /// `make` gives a tensor of `type`.
    Made(TensorType type, std::function<Tensor()> make) : m_make(std::move(make))
    {
        m_outputTypes.push_back(std::move(type));
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor>) const override { return {m_make()}; }
    [[nodiscard]] std::vector<Tensor> knownResults() const override
    {
        const TensorType& type = m_outputTypes.front();
        const auto bytes = tensor::checkedBytes(type.shape, type.dtype, kMaxKnownBytes);
        return bytes.ok() ? std::vector<Tensor>{m_make()} : std::vector<Tensor>();
    }

private:
    std::function<Tensor()> m_make;
};

/// An operator with one known result.
[[nodiscard]] inline BoundResult boundKnown(Tensor value)
{
    return bound<Known>(std::vector<Tensor>{std::move(value)});
}

} // namespace retro::ops
