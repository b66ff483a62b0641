// SPDX-License-Identifier: Apache-2.0
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/quantise/qonnx.h"

namespace retro::ops
{

namespace
{

enum TruncSlot : std::size_t { kTruncX, kTruncScale, kTruncZero, kTruncBits, kTruncFifth, kTruncSixth };

/// Whole numbers x / scale + zero point cut to fewer bits: divided by a power of two and rounded. Version 1 has the
/// operands x, scale, zero point, bits before and after; version 2 a scale of the result before its bits, and holds the
/// result within them.
class Trunc final : public QonnxOperator
{
public:
    Trunc(const BindContext& context, const QonnxRange& range, QonnxRounding rounding, bool hasOwnScale)
        : QonnxOperator(context), m_range(range), m_rounding(rounding), m_hasOwnScale(hasOwnScale)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = m_outputTypes[0];
        const std::vector<Tensor> all = spread(operands, type.dtype);
        return {filled(type.dtype, type.shape, [&](auto* y) {
            forEachCut(all, y, [&](std::int64_t i, auto cut, auto zero, auto scale, auto bits) {
                y[i] = (rounded(m_hasOwnScale ? m_range.held(cut, bits) : cut, m_rounding) - zero) * scale;
            });
        })};
    }
    [[nodiscard]] bool saturates() const override { return m_hasOwnScale; }

protected:
    [[nodiscard]] Tensor passing(std::span<const Tensor> operands) const override
    {
        const std::vector<Tensor> all = spread(operands, tensor::DType::Float64);
        return filled(tensor::DType::Float64, m_outputTypes[0].shape, [&](auto* y) {
            forEachCut(all, y, [&](std::int64_t i, auto cut, auto, auto, auto bits) {
                const bool isBeyond = m_range.isBeyond(static_cast<double>(cut), static_cast<double>(bits));
                y[i] = m_hasOwnScale && isBeyond ? 0 : 1;
            });
        });
    }

private:
    /// f(element, what is rounded, zero point and scale of the result, bits of the result) for all elements.
    template <class T, class F>
    void forEachCut(const std::vector<Tensor>& all, const T* like, const F& f) const
    {
        const T* x = elements(all[kTruncX], like);
        const T* scale = elements(all[kTruncScale], like);
        const T* zero = elements(all[kTruncZero], like);
        const T* bits = elements(all[kTruncBits], like);
        const T* fifth = elements(all[kTruncFifth], like);
        for (std::int64_t i = 0; i < all[kTruncX].size(); ++i) {
            const T level = std::nearbyint(x[i] / scale[i] + zero[i]);
            if (m_hasOwnScale) {
                const T factor = std::exp2(std::nearbyint(std::log2(fifth[i] / scale[i])));
                f(i, level / factor, zero[i] / factor, fifth[i], elements(all[kTruncSixth], like)[i]);
            } else {
                f(i, level / std::exp2(bits[i] - fifth[i]), zero[i], scale[i], fifth[i]);
            }
        }
    }

    QonnxRange m_range;
    QonnxRounding m_rounding;
    bool m_hasOwnScale;
};

BoundResult bindTrunc(const BindContext& context)
{
    const bool hasOwnScale = context.node.inputs.size() > kTruncSixth;
    RETRO_CHECK(expectQonnxOperands(context, hasOwnScale ? kTruncSixth + 1 : kTruncSixth));
    RETRO_TRY(const QonnxRounding rounding, qonnxRounding(context, "FLOOR"));
    return bound<Trunc>(context, qonnxRange(context), rounding, hasOwnScale);
}

} // namespace

const OperatorFamily kTruncQuantOperators{
    {kQonnxDomains[0], "Trunc", 1, 0, "shape map", true, bindTrunc, false, Elements::Quantised},
    {kQonnxDomains[1], "Trunc", 1, 0, "shape map", true, bindTrunc, false, Elements::Quantised},
    {kQonnxDomains[2], "Trunc", 1, 0, "shape map", true, bindTrunc, false, Elements::Quantised},
};

} // namespace retro::ops
