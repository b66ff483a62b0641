// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/kernel/rowloop.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// Along a new axis: the on value (element 1 of operand 2) at the index, the off value (element 0) elsewhere.
class OneHot final : public BoundOperator
{
public:
    OneHot(TensorType output, std::size_t axis) : m_axis(axis) { m_outputTypes.push_back(std::move(output)); }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Shape& shape = m_outputTypes[0].shape;
        const std::vector<std::int64_t> indices = integersOf(operands[0]);
        const AxisView view(shape, m_axis);
        ElementMap map(static_cast<std::size_t>(tensor::elementCount(shape)), 0);
        for (std::size_t n = 0; n < indices.size(); ++n) {
            const std::int64_t index = indices[n] < 0 ? indices[n] + view.extent : indices[n];
            if (index >= 0 && index < view.extent) {
                const auto place = static_cast<std::int64_t>(n);
                map[static_cast<std::size_t>(view.at(place / view.inner, index, place % view.inner))] = 1;
            }
        }
        return {gathered(operands[2], map, shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] const Structure& structure() const override { return noRelevance(); }

private:
    std::size_t m_axis;
};

base::Result<std::int64_t> depthOf(const BindContext& context)
{
    RETRO_TRY(const Tensor given, context.known(1));
    if (given.size() != 1) {
        return context.error("the depth (operand 1) must be one number");
    }
    return integersOf(given)[0];
}

BoundResult bindOneHot(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.least = 3, .most = 3, .attributes = {{"axis", AttributeKind::Int}}}));
    const TensorType& values = context.operandTypes[2];
    if (values.shape != Shape{2}) {
        return context.error("the values (operand 2) must be [off, on]");
    }
    RETRO_TRY(const std::int64_t depth, depthOf(context));
    Shape shape = firstType(context).shape;
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", -1), shape.size() + 1));
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
    RETRO_CHECK(expectSize(context, shape));
    return bound<OneHot>(TensorType{values.dtype, std::move(shape)}, axis);
}

} // namespace

std::span<const OperatorDeclaration> oneHotDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "OneHot", 9, 0, "no relevance", false, bindOneHot},
    };
    return kDeclarations;
}

} // namespace retro::ops
