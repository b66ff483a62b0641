// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/attribution.h"

namespace retro::engine
{

namespace
{

class LrpAttribution final : public Attribution
{
public:
    [[nodiscard]] std::string_view name() const override { return "lrp"; }
    [[nodiscard]] base::Result<Attributed> attribute(const Subject& subject, const Units&,
                                                     const EvaluationProgress&) const override
    {
        RETRO_TRY(tensor::Tensor relevance, subject.relevance(subject.input(), subject.composite(), subject.start()));
        return Attributed{std::move(relevance)};
    }
};

} // namespace

AttributionPointer lrpAttribution() { return std::make_shared<const LrpAttribution>(); }

} // namespace retro::engine
