// SPDX-License-Identifier: Apache-2.0
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/quantise/qonnx.h"

namespace retro::ops
{

namespace
{

enum QuantSlot : std::size_t { kQuantX, kQuantScale, kQuantZero, kQuantBits, kQuantSlots };

/// y = (round(hold(x / scale + zero point)) − zero point)·scale, where `hold` keeps a number within what so many bits
/// hold. One signed bit holds −1 and 1.
class Quant final : public QonnxOperator
{
public:
    Quant(const BindContext& context, const QonnxRange& range, QonnxRounding rounding)
        : QonnxOperator(context), m_range(range), m_rounding(rounding)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = m_outputTypes[0];
        const std::vector<Tensor> all = spread(operands, type.dtype);
        return {filled(type.dtype, type.shape, [&](auto* y) {
            forEachShare(all, y, [&](std::int64_t i, auto share, auto zero, auto scale, auto bits) {
                y[i] = (levelOf(share, bits) - zero) * scale;
            });
        })};
    }

protected:
    [[nodiscard]] Tensor passing(std::span<const Tensor> operands) const override
    {
        const std::vector<Tensor> all = spread(operands, tensor::DType::Float64);
        return filled(tensor::DType::Float64, m_outputTypes[0].shape, [&](auto* y) {
            forEachShare(all, y, [&](std::int64_t i, auto share, auto, auto, auto bits) {
                const auto width = static_cast<double>(bits);
                y[i] = isTwoValued(width) || !m_range.isBeyond(static_cast<double>(share), width) ? 1 : 0;
            });
        });
    }

private:
    [[nodiscard]] bool isTwoValued(double bits) const { return m_range.isSigned && bits == 1; }

    template <class T>
    [[nodiscard]] T levelOf(T share, T bits) const
    {
        if (isTwoValued(static_cast<double>(bits))) {
            return share >= 0 ? T{1} : T{-1};
        }
        return rounded(m_range.held(share, bits), m_rounding);
    }

    /// f(element, x / scale + zero point, zero point, scale, bits) for all elements.
    template <class T, class F>
    static void forEachShare(const std::vector<Tensor>& all, const T* like, const F& f)
    {
        const T* x = elements(all[kQuantX], like);
        const T* scale = elements(all[kQuantScale], like);
        const T* zero = elements(all[kQuantZero], like);
        const T* bits = elements(all[kQuantBits], like);
        for (std::int64_t i = 0; i < all[kQuantX].size(); ++i) {
            f(i, x[i] / scale[i] + zero[i], zero[i], scale[i], bits[i]);
        }
    }

    QonnxRange m_range;
    QonnxRounding m_rounding;
};

BoundResult bindQuant(const BindContext& context)
{
    RETRO_CHECK(expectQonnxOperands(context, kQuantSlots));
    RETRO_TRY(const QonnxRounding rounding, qonnxRounding(context, "ROUND"));
    return bound<Quant>(context, qonnxRange(context), rounding);
}

} // namespace

const OperatorFamily kQuantOperators{
    {kQonnxDomains[0], "Quant", 1, 0, "shape map", true, bindQuant, false, Elements::Quantised},
    {kQonnxDomains[1], "Quant", 1, 0, "shape map", true, bindQuant, false, Elements::Quantised},
    {kQonnxDomains[2], "Quant", 1, 0, "shape map", true, bindQuant, false, Elements::Quantised},
    {kQonnxDomains[0], "IntQuant", 1, 0, "shape map", true, bindQuant, false, Elements::Quantised},
};

} // namespace retro::ops
