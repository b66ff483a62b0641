// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

namespace retro::ops
{

/// What a BindFunction returns.
using BoundResult = base::Result<std::unique_ptr<BoundOperator>>;

/// The structure of operators that pass no relevance.
[[nodiscard]] const Structure& noRelevance();

/// An operator that passes neither relevance nor a gradient.
class PassiveOperator : public BoundOperator
{
public:
    [[nodiscard]] const Structure& structure() const final { return noRelevance(); }
    [[nodiscard]] Reads savedForGradient() const final { return Reads::nothing(); }
};

/// An operator that is its own structure S (ShapeMap, LinearMap, …); one whose results are not floating has none.
template <class S>
class Operator : public BoundOperator, public S
{
public:
    [[nodiscard]] const Structure& structure() const final
    {
        return tensor::isFloating(m_outputTypes.front().dtype) ? static_cast<const Structure&>(*this) : noRelevance();
    }

protected:
    explicit Operator(TensorType output) { m_outputTypes.push_back(std::move(output)); }
    explicit Operator(std::vector<TensorType> outputs) { m_outputTypes = std::move(outputs); }
};

/// make_unique as the result of a BindFunction.
template <class O, class... Arguments>
[[nodiscard]] BoundResult bound(Arguments&&... arguments)
{
    return BoundResult(std::make_unique<O>(std::forward<Arguments>(arguments)...));
}

} // namespace retro::ops
