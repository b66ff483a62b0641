// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/oldbroadcast.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/mapover.h"
#include "core/ops/kernel/rowloop.h"
#include "core/ops/kernel/visitnumber.h"

namespace retro::ops
{

namespace
{

using tensor::Shape;

struct IntegerSum
{
    static auto value(auto x, auto y, RowParameters) { return plus(x, y); }
};

struct IntegerDifference
{
    static auto value(auto x, auto y, RowParameters) { return minus(x, y); }
};

// Closures and their like are inlined into a loop; a function's name would be called per element.
struct Plus
{
    static constexpr bool kIsVectorised = true;

    auto operator()(auto x, auto y) const { return x + y; }
};

struct Minus
{
    static constexpr bool kIsVectorised = true;

    auto operator()(auto x, auto y) const { return x - y; }
};

/// Add, Sub and Sum: operands added from the first to the last. Mean: the sum divided by their number.
class SignedSum final : public Operator<SumOfOperands>
{
public:
    SignedSum(TensorType output, std::vector<double> signs, bool isMean = false)
        : Operator(std::move(output)), m_signs(std::move(signs)), m_isMean(isMean)
    {
        for (double& sign : m_signs) {
            sign /= m_isMean ? static_cast<double>(m_signs.size()) : 1;
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        Tensor total = operands[0];
        for (std::size_t i = 1; i < m_signs.size(); ++i) {
            total = added(total, operands[i], m_signs[i] < 0);
        }
        return {m_isMean ? algebra::scale(total, m_signs[0]) : total};
    }
    [[nodiscard]] std::vector<Tensor> forwardOver(std::span<Tensor> operands) const override
    {
        Tensor total = std::move(operands[0]);
        for (std::size_t i = 1; i < m_signs.size(); ++i) {
            total = addedOver(std::move(total), std::move(operands[i]), m_signs[i] < 0);
        }
        return {m_isMean ? algebra::scale(total, m_signs[0]) : total};
    }
    [[nodiscard]] Tensor forwardThrough(std::span<Tensor> operands, const RowsOver& rows) const override
    {
        if (m_signs.size() != 2 || m_isMean) {
            return {};
        }
        return addedOver(std::move(operands[0]), std::move(operands[1]), m_signs[1] < 0, &rows);
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] std::span<const double> signs() const override { return m_signs; }

private:
    [[nodiscard]] Tensor added(const Tensor& x, const Tensor& y, bool subtracts) const
    {
        const TensorType& type = m_outputTypes[0];
        if (!tensor::isFloating(type.dtype)) {
            const NumberRows rows = subtracts ? binaryIntegers<IntegerDifference>() : binaryIntegers<IntegerSum>();
            return mapNumbers(rows, type.dtype, type.shape, {x, y});
        }
        return visitFloat(type.dtype, [&](auto zero) {
            using T = decltype(zero);
            return subtracts ? mapElements<T>(x, y, type.shape, Minus{}) : mapElements<T>(x, y, type.shape, Plus{});
        });
    }
    /// In the memory of either, where nobody else holds it. `rows`, of float32 alone, may be null.
    [[nodiscard]] Tensor addedOver(Tensor x, Tensor y, bool subtracts, const RowsOver* rows = nullptr) const
    {
        const TensorType& type = m_outputTypes[0];
        if (!tensor::isFloating(type.dtype)) {
            return added(x, y, subtracts);
        }
        return visitFloat(type.dtype, [&](auto zero) {
            using T = decltype(zero);
            return subtracts ? mapOverEither<T>(std::move(x), std::move(y), type.shape, Minus{}, rows)
                             : mapOverEither<T>(std::move(x), std::move(y), type.shape, Plus{}, rows);
        });
    }

    std::vector<double> m_signs;
    bool m_isMean;
};

BoundResult bindSum(const BindContext& context, double lastSign, bool isMean = false)
{
    Shape shape = firstType(context).shape;
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot) {
        RETRO_TRY(shape, broadcastShape(context, shape, context.operandTypes[slot].shape));
    }
    std::vector<double> signs(context.node.inputs.size(), 1);
    signs.back() = lastSign;
    return bound<SignedSum>(TensorType{firstType(context).dtype, std::move(shape)}, std::move(signs), isMean);
}

BoundResult bindAdd(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    return bindSum(context, 1);
}

BoundResult bindSub(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    return bindSum(context, -1);
}

BoundResult bindSumOfAll(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    return bindSum(context, 1);
}

BoundResult bindMean(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    return bindSum(context, 1, true);
}

} // namespace

// Sum and Mean had no broadcasting before opset 8, which these include.
const OperatorFamily kSumOperators{
    {"", "Add", 1, 6, "sum of operands", true, bindOld<bindAdd>},
    {"", "Add", 7, 0, "sum of operands", true, bindAdd},
    {"", "Mean", 1, 0, "sum of operands", true, bindMean, false, Elements::Combined},
    {"", "Sub", 1, 6, "sum of operands", true, bindOld<bindSub>, false, Elements::Subtracted},
    {"", "Sub", 7, 0, "sum of operands", true, bindSub, false, Elements::Subtracted},
    {"", "Sum", 1, 0, "sum of operands", true, bindSumOfAll},
};

} // namespace retro::ops
