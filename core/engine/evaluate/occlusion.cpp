// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/attribution.h"

namespace retro::engine
{

namespace
{

class Occlusion final : public Attribution
{
public:
    [[nodiscard]] std::string_view name() const override { return "occlusion"; }
    [[nodiscard]] Passes passes() const override { return Passes::Forward; }

    [[nodiscard]] base::Result<Attributed> attribute(const Subject& subject, const Units& units,
                                                     const EvaluationProgress& progress) const override
    {
        RETRO_TRY(const double whole, subject.score(subject.input()));
        std::vector<double> losses;
        for (std::size_t unit = 0; unit < units.count(); ++unit) {
            Removal removal(subject.input(), units);
            removal.remove(unit);
            RETRO_TRY(const double without, subject.score(removal.tensor()));
            losses.push_back(whole - without);
            report(progress, losses.size(), units.count());
        }
        return Attributed{units.spread(losses, subject.input())};
    }
};

} // namespace

AttributionPointer occlusion() { return std::make_shared<const Occlusion>(); }

} // namespace retro::engine
