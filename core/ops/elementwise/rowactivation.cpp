// SPDX-License-Identifier: Apache-2.0
#include "core/ops/elementwise/rowactivation.h"

#include "core/ops/kernel/mapover.h"

namespace retro::ops
{

std::vector<Tensor> RowActivation::forward(std::span<const Tensor> operands) const
{
    const TensorType& type = m_outputTypes[0];
    return {mapNumbers(m_functions.value, type.dtype, type.shape, operands.first(1), m_parameters)};
}

void RowActivation::over(float* row, std::int64_t count) const
{
    const void* const in = row;
    m_functions.value.f32(&in, row, count, m_parameters);
}

std::vector<Tensor> RowActivation::forwardOver(std::span<Tensor> operands) const
{
    constexpr std::int64_t kPiece = 32768;
    float* const out = m_outputTypes[0].dtype == tensor::DType::Float32 ? writable<float>(operands[0]) : nullptr;
    if (out == nullptr) {
        return forward(operands);
    }
    parallelFor(operands[0].size(), kPiece,
                [&](std::int64_t begin, std::int64_t end) { over(out + begin, end - begin); });
    return {std::move(operands[0])};
}

Tensor RowActivation::derivative(const Tensor& x, const Tensor& y) const
{
    Tensor source = x;
    if (m_functions.keepsResult) {
        source = y.isValid() ? y : forward(std::span(&x, 1)).front();
    }
    return mapNumbers(m_functions.slope, source.dtype(), source.shape(), {source}, m_parameters);
}

BoundResult bindRowActivation(const BindContext& context, const RowFunctions& functions,
                              std::span<const RowAttribute> attributes)
{
    const bool takesIntegers = functions.value.i64 != nullptr;
    RETRO_CHECK(expect(context, takesIntegers ? OperandTypes::AllNumbers : OperandTypes::Floats));
    RowParameters parameters;
    for (std::size_t i = 0; i < attributes.size(); ++i) {
        (i == 0 ? parameters.a : parameters.b) = context.floatAttribute(attributes[i].name, attributes[i].fallback);
    }
    return bound<RowActivation>(firstType(context), functions, parameters);
}

} // namespace retro::ops
