// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementmap.h"
#include "core/ops/select/order.h"

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// ArgMax or ArgMin along an axis.
struct Search
{
    std::size_t axis = 0;
    bool isMax = true;
    bool takesLast = false; // of equal extremes
};

template <class T>
std::int64_t positionOf(const T* x, std::int64_t extent, std::int64_t step, const Search& search)
{
    std::int64_t best = 0;
    for (std::int64_t e = 1; e < extent; ++e) {
        const T value = x[e * step];
        const T record = x[best * step];
        const bool wins = search.isMax ? value > record : value < record;
        best = wins || (search.takesLast && value == record) ? e : best;
    }
    return best;
}

class ArgExtreme final : public PassiveOperator
{
public:
    ArgExtreme(Shape output, Search search) : m_search(search)
    {
        m_outputTypes.push_back({DType::Int64, std::move(output)});
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const AxisView view(operands[0].shape(), m_search.axis);
        tensor::TensorBuffer buffer(DType::Int64, m_outputTypes[0].shape);
        std::int64_t* out = buffer.data<std::int64_t>();
        withComparable(operands[0], [&](const auto* x) {
            for (std::int64_t o = 0; o < view.outer; ++o) {
                for (std::int64_t i = 0; i < view.inner; ++i) {
                    *out++ = positionOf(x + view.at(o, 0, i), view.extent, view.inner, m_search);
                }
            }
        });
        return {std::move(buffer).freeze()};
    }

private:
    Search m_search;
};

BoundResult boundArgExtreme(const BindContext& context, bool isMax)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    Shape shape = firstType(context).shape;
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 0), shape.size()));
    if (shape[axis] == 0) {
        return context.error("the axis has no elements");
    }
    shape[axis] = 1;
    if (context.intAttribute("keepdims", 1) == 0) {
        shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    }
    const bool takesLast = context.node.opset >= 12 && context.intAttribute("select_last_index", 0) != 0;
    return bound<ArgExtreme>(std::move(shape), Search{axis, isMax, takesLast});
}

BoundResult bindArgMax(const BindContext& context) { return boundArgExtreme(context, true); }
BoundResult bindArgMin(const BindContext& context) { return boundArgExtreme(context, false); }

} // namespace

const OperatorFamily kArgExtremeOperators{
    {"", "ArgMax", 1, 0, "no relevance", false, bindArgMax},
    {"", "ArgMin", 1, 0, "no relevance", false, bindArgMin},
};

} // namespace retro::ops
