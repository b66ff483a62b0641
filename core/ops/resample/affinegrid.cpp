// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/kernel/matrixproduct.h"

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// The normalised coordinate of element `i` along an axis.
double coordinate(std::int64_t i, std::int64_t extent, bool alignsCorners)
{
    const auto at = static_cast<double>(i);
    const auto length = static_cast<double>(extent);
    if (alignsCorners) {
        return extent > 1 ? -1 + 2 * at / (length - 1) : -1;
    }
    return (2 * at + 1) / length - 1;
}

/// Homogeneous coordinates of every position, the last axis first: positions × (axes + 1).
Tensor homogeneous(tensor::DType type, const Shape& extents, bool alignsCorners)
{
    const std::int64_t positions = tensor::elementCount(extents);
    const auto width = static_cast<std::int64_t>(extents.size()) + 1;
    return filled(type, {1, positions, width}, [&](auto* out) {
        using T = std::decay_t<decltype(*out)>;
        for (std::int64_t p = 0; p < positions; ++p) {
            std::int64_t rest = p;
            for (std::size_t axis = extents.size(); axis-- > 0;) {
                const auto column = static_cast<std::int64_t>(extents.size() - 1 - axis);
                out[p * width + column] =
                    static_cast<T>(coordinate(rest % extents[axis], extents[axis], alignsCorners));
                rest /= extents[axis];
            }
            out[p * width + width - 1] = T{1};
        }
    });
}

/// Sampling positions by an affine map per image: linear in the map.
class AffineGrid final : public Operator<Differentiable>
{
public:
    AffineGrid(TensorType output, Tensor base, Shape theta)
        : Operator(std::move(output)), m_base(std::move(base)), m_theta(std::move(theta))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {matrixProduct(m_base, swapped(operands[0])).reshaped(m_outputTypes[0].shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor>, std::span<const Tensor>,
                                  std::size_t) const override
    {
        const Tensor gradient = s[0].contiguous().reshaped({m_theta[0], m_base.shape()[1], m_theta[1]});
        return matrixProduct(swapped(gradient), m_base);
    }

private:
    Tensor m_base;
    Shape m_theta;
};

BoundResult bindAffineGrid(const BindContext& context)
{
    const TensorType& theta = firstType(context);
    RETRO_TRY(const auto size, context.constantInts(1));
    const std::size_t axes = size.size() - 2;
    if (!tensor::isFloating(theta.dtype) || (size.size() != 4 && size.size() != 5) ||
        theta.shape != Shape{size[0], static_cast<std::int64_t>(axes), static_cast<std::int64_t>(axes) + 1}) {
        return context.error("a size of four (five) entries and floating maps of batch × 2 × 3 (batch × 3 × 4) are "
                             "needed");
    }
    const Shape extents(size.begin() + 2, size.end());
    Shape shape{size[0]};
    shape.insert(shape.end(), extents.begin(), extents.end());
    shape.push_back(static_cast<std::int64_t>(axes));
    RETRO_CHECK(expectSize(context, shape));
    Tensor base = homogeneous(theta.dtype, extents, context.intAttribute("align_corners", 0) != 0);
    return bound<AffineGrid>(TensorType{theta.dtype, std::move(shape)}, std::move(base), theta.shape);
}

} // namespace

const OperatorFamily kAffineGridOperators{
    {"", "AffineGrid", 20, 0, "function", true, bindAffineGrid},
};

} // namespace retro::ops
