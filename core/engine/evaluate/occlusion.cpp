// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/attribution.h"

namespace retro::engine
{

using tensor::Tensor;

namespace
{

class Occlusion final : public Attribution
{
public:
    [[nodiscard]] std::string_view name() const override { return "occlusion"; }

    [[nodiscard]] base::Result<Tensor> attribute(const Subject& subject, const Units& units) const override
    {
        RETRO_TRY(const double whole, subject.score(subject.input()));
        std::vector<double> values(static_cast<std::size_t>(subject.input().size()), 0);
        for (std::size_t unit = 0; unit < units.count(); ++unit) {
            Removal removal(subject.input(), units);
            removal.remove(unit);
            RETRO_TRY(const double without, subject.score(removal.tensor()));
            const std::vector<std::int64_t>& members = units.members(unit);
            for (const std::int64_t element : members) {
                values[static_cast<std::size_t>(element)] = (whole - without) / static_cast<double>(members.size());
            }
        }
        const Tensor result = Tensor::of<double>(subject.input().shape(), values);
        return subject.isOfTokens() ? result : result.to(subject.input().dtype());
    }
};

} // namespace

AttributionPointer occlusion() { return std::make_shared<const Occlusion>(); }

} // namespace retro::engine
