// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"

namespace retro::ops
{

/// Results that are known once the operator is bound: what follows from shapes (Shape, ConstantOfShape), and what has a
/// shape that depends on data, to which the model is then bound (NonZero, Range). Passes no relevance.
class Known final : public BoundOperator
{
public:
    explicit Known(std::vector<Tensor> values) : m_values(std::move(values))
    {
        for (const Tensor& value : m_values) {
            m_outputTypes.push_back({value.dtype(), value.shape()});
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor>) const override { return m_values; }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] const Structure& structure() const override { return noRelevance(); }
    [[nodiscard]] std::vector<Tensor> knownResults() const override { return m_values; }

private:
    std::vector<Tensor> m_values;
};

/// An operator with one known result.
[[nodiscard]] inline BoundResult boundKnown(Tensor value)
{
    return bound<Known>(std::vector<Tensor>{std::move(value)});
}

} // namespace retro::ops
