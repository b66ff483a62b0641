// SPDX-License-Identifier: Apache-2.0
#include "core/ops/normalise/standardised.h"

#include "core/ops/algebra.h"
#include "core/ops/kernel/filled.h"

#include <algorithm>

namespace retro::ops
{

using tensor::Shape;

Standardised::Standardised(std::vector<TensorType> outputs, StandardisedView view)
    : Operator(std::move(outputs)), m_view(std::move(view)), m_operand(m_outputTypes[0].shape)
{
    if (m_view.shape.empty()) {
        m_view.shape = m_operand;
    }
}

Tensor Standardised::rowsOf(const Tensor& t) const
{
    return (m_view.order.empty() ? t : t.permuted(m_view.order)).contiguous();
}

Tensor Standardised::fromRows(const Tensor& rows) const
{
    if (m_view.order.empty()) {
        return rows.reshaped(m_operand);
    }
    Shape permuted;
    Shape back(m_view.order.size());
    for (std::size_t i = 0; i < m_view.order.size(); ++i) {
        permuted.push_back(m_operand[static_cast<std::size_t>(m_view.order[i])]);
        back[static_cast<std::size_t>(m_view.order[i])] = static_cast<std::int64_t>(i);
    }
    return rows.reshaped(std::move(permuted)).permuted(back).contiguous();
}

Tensor Standardised::standardised(const Tensor& x) const
{
    const Tensor rows = rowsOf(x);
    return fromRows(
        filled(type(), m_operand, [&](auto* y) { reference::standardise(m_view.form, elements(rows, y), y); }));
}

Tensor Standardised::affine(const Tensor& t) const
{
    return m_view.affine.empty() ? t : t.contiguous().reshaped(m_view.affine);
}

bool Standardised::isPerElement(std::span<const Tensor> operands, std::size_t slot) const
{
    if (slot >= operands.size() || !operands[slot].isValid()) {
        return true;
    }
    const Shape& own = operands[slot].shape();
    const auto first = std::find_if(own.begin(), own.end(), [](std::int64_t extent) { return extent != 1; });
    const bool isTail = own.end() - first <= static_cast<std::ptrdiff_t>(m_operand.size()) &&
                        std::equal(first, own.end(), m_operand.end() - (own.end() - first));
    return isTail && m_view.affine.empty() && operands[slot].size() == m_view.form.length;
}

Tensor Standardised::inOnePass(std::span<const Tensor> operands) const
{
    const Tensor rows = rowsOf(operands[0]);
    const auto given = [&](std::size_t slot) {
        return slot < operands.size() && operands[slot].isValid() ? operands[slot].contiguous() : Tensor();
    };
    const Tensor scale = given(1);
    const Tensor bias = given(2);
    return filled(type(), m_operand, [&](auto* y) {
        reference::standardise(m_view.form, elements(rows, y), elements(scale, y), elements(bias, y), y);
    });
}

Tensor Standardised::scaled(std::span<const Tensor> operands) const
{
    if (m_view.order.empty() && isPerElement(operands, 1) && isPerElement(operands, 2)) {
        return inOnePass(operands);
    }
    Tensor y = standardised(operands[0]).reshaped(m_view.shape);
    if (operands.size() > 1 && operands[1].isValid()) {
        y = algebra::multiplyBroadcast(y, affine(operands[1]));
    }
    if (operands.size() > 2 && operands[2].isValid()) {
        y = algebra::addBroadcast(y, affine(operands[2]));
    }
    return y.contiguous().reshaped(m_operand);
}

std::vector<Tensor> Standardised::forward(std::span<const Tensor> operands) const
{
    std::vector<Tensor> results{scaled(operands)};
    if (m_outputTypes.size() == 1) {
        return results;
    }
    const Tensor rows = rowsOf(operands[0]);
    for (std::size_t k = 1; k < m_outputTypes.size(); ++k) {
        results.push_back(filled(type(), m_outputTypes[k].shape, [&](auto* out) {
            for (std::int64_t row = 0; row < m_view.form.rows; ++row) {
                const auto of = reference::statisticsOf(m_view.form, elements(rows, out) + row * m_view.form.length);
                out[row] = static_cast<std::decay_t<decltype(*out)>>(k == 1 ? of.mean : 1 / of.divisor);
            }
        }));
    }
    return results;
}

Tensor Standardised::beforeScale(const Tensor& s, const Tensor& scale) const
{
    Tensor gradient = s.isValid() ? s.contiguous().reshaped(m_view.shape) : Tensor::zeros(type(), m_view.shape);
    if (scale.isValid()) {
        gradient = algebra::multiplyBroadcast(gradient, affine(scale));
    }
    return gradient.contiguous().reshaped(m_operand);
}

Tensor Standardised::detachedPullback(const Tensor& s, std::span<const Tensor> operands) const
{
    const Tensor values = rowsOf(beforeScale(s, operands.size() > 1 ? operands[1] : Tensor()));
    const Tensor rows = rowsOf(operands[0]);
    return fromRows(filled(type(), m_operand, [&](auto* r) {
        reference::detachedBack(m_view.form, elements(rows, r), elements(values, r), r);
    }));
}

Tensor Standardised::detachedForward(const Tensor& v, std::span<const Tensor> operands) const
{
    const Tensor values = rowsOf(v);
    const Tensor rows = rowsOf(operands[0]);
    const Tensor away = fromRows(filled(type(), m_operand, [&](auto* r) {
        reference::detachedBack(m_view.form, elements(rows, r), elements(values, r), r);
    }));
    return beforeScale(away, operands.size() > 1 ? operands[1] : Tensor());
}

Tensor Standardised::toOperand(const Tensor& x, const Tensor& scale, std::span<const Tensor> s) const
{
    const Tensor values = rowsOf(beforeScale(s[0], scale));
    const Tensor rows = rowsOf(x);
    const auto statistic = [&](std::size_t k) { return k < s.size() && s[k].isValid() ? s[k].contiguous() : Tensor(); };
    const Tensor ofMean = statistic(1);
    const Tensor ofFactor = statistic(2);
    return fromRows(filled(type(), m_operand, [&](auto* r) {
        using T = std::decay_t<decltype(*r)>;
        reference::standardiseBack<T>(m_view.form, elements(rows, r),
                                      {elements(values, r), elements(ofMean, r), elements(ofFactor, r)}, r);
    }));
}

Tensor Standardised::toAffine(const Tensor& product, std::size_t slot) const
{
    const Shape& own = m_view.operands[slot];
    return algebra::reduceTo(product, m_view.affine.empty() ? own : m_view.affine).contiguous().reshaped(own);
}

Tensor Standardised::sumsPerScale(const Tensor& perElement) const
{
    return toAffine(perElement.contiguous().reshaped(m_view.shape), 1);
}

Tensor Standardised::pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                              std::size_t slot) const
{
    if (slot == 0) {
        return toOperand(operands[0], operands.size() > 1 ? operands[1] : Tensor(), s);
    }
    if (!s[0].isValid()) {
        return Tensor::zeros(type(), m_view.operands[slot]);
    }
    const Tensor gradient = s[0].contiguous().reshaped(m_view.shape);
    const Tensor product =
        slot == 1 ? algebra::multiply(gradient, standardised(operands[0]).reshaped(m_view.shape)) : gradient;
    return toAffine(product, slot);
}

} // namespace retro::ops
