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
    [[nodiscard]] base::Result<tensor::Tensor> attribute(const Subject& subject, const Units&) const override
    {
        if (subject.isOfTokens()) {
            return subject.embeddingTimesGradient();
        }
        return subject.relevance(subject.input(), "gradient_x_input", StartKind::One);
    }
};

} // namespace

AttributionPointer inputTimesGradient() { return std::make_shared<const InputTimesGradient>(); }

} // namespace retro::engine
