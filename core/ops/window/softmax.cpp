// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/axisreduction.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/threads.h"

#include <array>
#include <cmath>
#include <limits>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// One row: exp(x − max x), divided by its sum.
template <class T>
void softmaxRow(const T* x, T* y, std::int64_t length)
{
    T largest = -std::numeric_limits<T>::infinity();
    for (std::int64_t i = 0; i < length; ++i) {
        largest = std::max(largest, x[i]);
    }
    T sum{0};
    for (std::int64_t i = 0; i < length; ++i) {
        y[i] = std::exp(x[i] - largest);
        sum += y[i];
    }
    for (std::int64_t i = 0; i < length; ++i) {
        y[i] /= sum;
    }
}

/// Softmax over one axis; before opset 13 over all axes from one on, taken as one.
class SoftmaxOver final : public Operator<Softmax>
{
public:
    SoftmaxOver(TensorType output, std::vector<std::size_t> axes)
        : Operator(std::move(output)), m_axes(std::move(axes)), m_back(m_outputTypes[0].shape.size())
    {
        // Where each axis of the operand lies once m_axes are at the end.
        std::size_t kept = 0;
        std::size_t moved = m_back.size() - m_axes.size();
        for (std::size_t axis = 0; axis < m_back.size(); ++axis) {
            const bool moves = std::binary_search(m_axes.begin(), m_axes.end(), axis);
            m_back[axis] = static_cast<std::int64_t>(moves ? moved++ : kept++);
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor rows = movedToEnd(operands[0], m_axes).contiguous();
        const std::int64_t length = extentOf(m_outputTypes[0].shape, m_axes);
        tensor::TensorBuffer buffer(rows.dtype(), rows.shape());
        visitFloat(rows.dtype(), [&](auto zero) {
            using T = decltype(zero);
            const T* in = rows.data<T>();
            T* out = buffer.data<T>();
            const std::int64_t count = length == 0 ? 0 : rows.size() / length;
            const std::int64_t grain = std::max<std::int64_t>(4096 / std::max<std::int64_t>(length, 1), 1);
            parallelFor(count, grain, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t row = begin; row < end; ++row) {
                    softmaxRow(in + row * length, out + row * length, length);
                }
            });
        });
        return {std::move(buffer).freeze().permuted(m_back)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOutput(); }
    [[nodiscard]] Tensor sumOverAxis(const Tensor& t) const override
    {
        return algebra::broadcastTo(sumOverAxes(t, m_axes), t.shape());
    }

private:
    std::vector<std::size_t> m_axes;
    Shape m_back;
};

BoundResult bindSoftmax(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.types = OperandTypes::Floats, .attributes = {{"axis", AttributeKind::Int}}}));
    const std::size_t rank = firstType(context).shape.size();
    const bool flattens = context.node.opset < 13;
    RETRO_TRY(const std::size_t first, axisWithin(context, context.intAttribute("axis", flattens ? 1 : -1), rank));
    std::vector<std::size_t> axes{first};
    for (std::size_t axis = first + 1; flattens && axis < rank; ++axis) {
        axes.push_back(axis);
    }
    return bound<SoftmaxOver>(firstType(context), std::move(axes));
}

} // namespace

std::span<const OperatorDeclaration> softmaxDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "Softmax", 1, 0, "softmax", true, bindSoftmax},
    };
    return kDeclarations;
}

} // namespace retro::ops
