// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/operatorbase.h"
#include "core/ops/kernel/rowloop.h"

namespace retro::ops
{

/// An element-wise function that passes no relevance: comparisons, logic, rounding.
class RowOperator final : public PassiveOperator
{
public:
    /// `rows` for operands of one type that broadcast to the output's shape.
    RowOperator(TensorType output, NumberRows rows, RowParameters parameters = {})
        : m_rows(rows), m_parameters(parameters)
    {
        m_outputTypes.push_back(std::move(output));
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        while (!operands.back().isValid()) { // empty optional inputs after those that the operator has
            operands = operands.first(operands.size() - 1);
        }
        const TensorType& type = m_outputTypes[0];
        return {mapNumbers(m_rows, type.dtype, type.shape, operands, m_parameters)};
    }

private:
    NumberRows m_rows;
    RowParameters m_parameters;
};

} // namespace retro::ops
