// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/attribution.h"
#include "core/ops/algebra.h"

namespace retro::engine
{

namespace algebra = ops::algebra;

namespace
{

class IntegratedGradients final : public Attribution
{
public:
    explicit IntegratedGradients(int steps) : m_steps(steps) {}

    [[nodiscard]] std::string_view name() const override { return "integrated_gradients"; }
    [[nodiscard]] bool takesTokens() const override { return false; }

    [[nodiscard]] base::Result<Attributed> attribute(const Subject& subject, const Units&,
                                                     const EvaluationProgress& progress) const override
    {
        tensor::Tensor sum;
        for (int i = 0; i < m_steps; ++i) {
            const double share = (i + 0.5) / m_steps;
            RETRO_TRY(const tensor::Tensor gradient,
                      subject.relevance(algebra::scale(subject.input(), share), "gradient", StartKind::One));
            sum = sum.isValid() ? algebra::add(sum, gradient) : gradient;
            report(progress, i + 1, m_steps);
        }
        return Attributed{algebra::multiply(subject.input(), algebra::scale(sum, 1.0 / m_steps))};
    }

private:
    int m_steps;
};

} // namespace

AttributionPointer integratedGradients(int steps) { return std::make_shared<const IntegratedGradients>(steps); }

} // namespace retro::engine
