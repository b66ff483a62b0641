// SPDX-License-Identifier: Apache-2.0
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/quantise/qonnx.h"

namespace retro::ops
{

namespace
{

/// y = scale where x ≥ 0, else −scale. No element saturates.
class BipolarQuant final : public QonnxOperator
{
public:
    using QonnxOperator::QonnxOperator;

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = m_outputTypes[0];
        const std::vector<Tensor> all = spread(operands, type.dtype);
        return {filled(type.dtype, type.shape, [&](auto* y) {
            const auto* x = elements(all[0], y);
            const auto* scale = elements(all[1], y);
            for (std::int64_t i = 0; i < all[0].size(); ++i) {
                y[i] = x[i] >= 0 ? scale[i] : -scale[i];
            }
        })};
    }
    [[nodiscard]] bool saturates() const override { return false; }

protected:
    [[nodiscard]] Tensor passing(std::span<const Tensor>) const override
    {
        return Tensor::full(tensor::DType::Float64, m_outputTypes[0].shape, 1);
    }
};

BoundResult bindBipolarQuant(const BindContext& context)
{
    RETRO_CHECK(expectQonnxOperands(context, 2));
    return bound<BipolarQuant>(context);
}

} // namespace

const OperatorFamily kBipolarQuantOperators{
    {kQonnxDomains[0], "BipolarQuant", 1, 0, "shape map", true, bindBipolarQuant, false, Elements::Quantised},
    {kQonnxDomains[1], "BipolarQuant", 1, 0, "shape map", true, bindBipolarQuant, false, Elements::Quantised},
    {kQonnxDomains[2], "BipolarQuant", 1, 0, "shape map", true, bindBipolarQuant, false, Elements::Quantised},
};

} // namespace retro::ops
