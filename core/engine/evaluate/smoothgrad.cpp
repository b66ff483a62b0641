// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/attribution.h"
#include "core/engine/evaluate/draws.h"
#include "core/ops/algebra.h"

#include <algorithm>
#include <limits>

namespace retro::engine
{

namespace algebra = ops::algebra;
using tensor::Tensor;

namespace
{

class SmoothGrad final : public Attribution
{
public:
    SmoothGrad(int samples, double noise, std::uint64_t seed) : m_samples(samples), m_noise(noise), m_seed(seed) {}

    [[nodiscard]] std::string_view name() const override { return "smoothgrad"; }
    [[nodiscard]] bool takesTokens() const override { return false; }

    [[nodiscard]] base::Result<Attributed> attribute(const Subject& subject, const Units&,
                                                     const EvaluationProgress& progress) const override
    {
        Draws draws(m_seed);
        const double deviation = m_noise * rangeOf(subject.input());
        Tensor sum;
        for (int i = 0; i < m_samples; ++i) {
            const Tensor noisy = algebra::addScaled(subject.input(), normalLike(subject.input(), draws), deviation);
            RETRO_TRY(const Tensor gradient, subject.relevance(noisy, "gradient", StartKind::One));
            sum = sum.isValid() ? algebra::add(sum, gradient) : gradient;
            report(progress, i + 1, m_samples);
        }
        return Attributed{algebra::scale(sum, 1.0 / m_samples)};
    }

private:
    static double rangeOf(const Tensor& input)
    {
        double low = std::numeric_limits<double>::max();
        double high = std::numeric_limits<double>::lowest();
        for (std::int64_t i = 0; i < input.size(); ++i) {
            low = std::min(low, input.at(i));
            high = std::max(high, input.at(i));
        }
        return input.size() == 0 ? 0 : high - low;
    }

    static Tensor normalLike(const Tensor& input, Draws& draws)
    {
        std::vector<double> values(static_cast<std::size_t>(input.size()));
        for (double& value : values) {
            value = draws.normal();
        }
        return Tensor::of<double>(input.shape(), values).to(input.dtype());
    }

    int m_samples;
    double m_noise;
    std::uint64_t m_seed;
};

} // namespace

AttributionPointer smoothGrad(int samples, double noise, std::uint64_t seed)
{
    return std::make_shared<const SmoothGrad>(samples, noise, seed);
}

} // namespace retro::engine
