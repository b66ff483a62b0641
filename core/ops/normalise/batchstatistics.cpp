// SPDX-License-Identifier: Apache-2.0
#include "core/ops/normalise/batchstatistics.h"

#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/normalise/standardised.h"

#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// y = (x − mean)/√(variance + ε)·scale + bias over batch and positions; then the running statistics, operands 3 and 4,
/// moved towards these.
class BatchStatistics final : public Operator<SelfNormalisation>, public Detachable
{
public:
    BatchStatistics(std::vector<TensorType> outputs, StandardisedView view, double momentum)
        : Operator(outputs), m_epsilon(view.form.epsilon), m_momentum(momentum),
          m_norm(std::move(outputs), std::move(view))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        std::vector<Tensor> results = m_norm.forward(operands.first(3));
        if (results.size() > 1) {
            results[1] = moved(operands[3], results[1]);
        }
        if (results.size() > 2) {
            results[2] = moved(operands[4], variance(results[2]));
        }
        return results;
    }
    [[nodiscard]] Reads savedForGradient() const override { return m_norm.savedForGradient(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        if (slot >= 3) {
            const std::size_t k = slot - 2;
            return k < s.size() && s[k].isValid() ? algebra::scale(s[k], m_momentum)
                                                  : Tensor::zeros(m_outputTypes[0].dtype, {m_outputTypes[0].shape[1]});
        }
        std::vector<Tensor> arriving(s.begin(), s.end());
        if (arriving.size() > 1 && arriving[1].isValid()) {
            arriving[1] = algebra::scale(arriving[1], 1 - m_momentum);
        }
        if (arriving.size() > 2 && arriving[2].isValid()) { // variance = factor⁻² − ε
            const Tensor factor = m_norm.forward(operands.first(3))[2];
            arriving[2] =
                algebra::scale(algebra::multiply(arriving[2].contiguous(), slopeOfVariance(factor)), 1 - m_momentum);
        }
        return m_norm.pullback(arriving, operands.first(3), {}, slot);
    }
    [[nodiscard]] bool isCentred() const override { return m_norm.isCentred(); }
    [[nodiscard]] Tensor detachedPullback(const Tensor& s, std::span<const Tensor> operands) const override
    {
        return m_norm.detachedPullback(s, operands.first(3));
    }
    [[nodiscard]] Tensor detachedForward(const Tensor& v, std::span<const Tensor> operands) const override
    {
        return m_norm.detachedForward(v, operands.first(3));
    }
    [[nodiscard]] Tensor sumsPerScale(const Tensor& perElement) const override
    {
        return m_norm.sumsPerScale(perElement);
    }

private:
    [[nodiscard]] Tensor moved(const Tensor& running, const Tensor& now) const
    {
        return algebra::add(algebra::scale(running.contiguous(), m_momentum), algebra::scale(now, 1 - m_momentum));
    }
    template <class F>
    [[nodiscard]] static Tensor ofFactor(const Tensor& factor, const F& f)
    {
        return visitFloat(factor.dtype(), [&](auto zero) {
            using T = decltype(zero);
            return mapElements<T>(factor, [&f](T v) { return static_cast<T>(f(static_cast<double>(v))); });
        });
    }
    [[nodiscard]] Tensor variance(const Tensor& factor) const
    {
        return ofFactor(factor, [this](double f) { return 1 / (f * f) - m_epsilon; });
    }
    [[nodiscard]] static Tensor slopeOfVariance(const Tensor& factor)
    {
        return ofFactor(factor, [](double f) { return -2 / (f * f * f); });
    }

    double m_epsilon;
    double m_momentum;
    Standardised m_norm;
};

} // namespace

BoundResult bindBatchStatistics(const BindContext& context)
{
    const TensorType& x = firstType(context);
    StandardisedView view;
    view.order.resize(x.shape.size());
    std::iota(view.order.begin(), view.order.end(), std::int64_t{0});
    std::swap(view.order[0], view.order[1]);
    view.form.rows = x.shape[1];
    view.form.length = view.form.rows == 0 ? 0 : tensor::elementCount(x.shape) / view.form.rows;
    view.form.epsilon = context.floatAttribute("epsilon", 1e-5);
    view.affine.assign(x.shape.size(), 1);
    view.affine[1] = x.shape[1];
    view.operands = operandShapes(context);
    std::vector<TensorType> outputs{x};
    for (std::size_t k = 1; k < context.node.outputs.size(); ++k) {
        outputs.push_back({x.dtype, {x.shape[1]}});
    }
    return bound<BatchStatistics>(std::move(outputs), std::move(view), context.floatAttribute("momentum", 0.9));
}

} // namespace retro::ops
