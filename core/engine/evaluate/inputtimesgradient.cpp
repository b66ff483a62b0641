// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/attribution.h"

namespace retro::engine
{

namespace
{

class InputTimesGradient final : public Attribution
{
public:
    [[nodiscard]] std::string_view name() const override { return "input_x_gradient"; }
    [[nodiscard]] base::Result<Attributed> attribute(const Subject& subject, const Units&,
                                                     const EvaluationProgress&) const override
    {
        RETRO_TRY(tensor::Tensor product, subject.isOfTokens()
                                              ? subject.embeddingTimesGradient()
                                              : subject.relevance(subject.input(), "gradient_x_input", StartKind::One));
        return Attributed{std::move(product)};
    }
};

} // namespace

AttributionPointer inputTimesGradient() { return std::make_shared<const InputTimesGradient>(); }

} // namespace retro::engine
