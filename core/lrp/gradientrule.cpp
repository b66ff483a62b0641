// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/balance.h"
#include "core/lrp/gradientparts.h"
#include "core/lrp/ruleregistry.h"

namespace retro::lrp
{

namespace
{

class GradientRule final : public Rule
{
public:
    [[nodiscard]] std::string_view name() const override { return "gradient"; }

    [[nodiscard]] bool accepts(const ops::Structure& structure) const override
    {
        return structure.kind() != ops::StructureKind::NoRelevance;
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t> tracked) const override
    {
        return gradientReads(op, tracked);
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        Balance balance(context);
        std::vector<Tensor> parts(context.tracked.size());
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (context.tracked[slot] != 0) {
                parts[slot] = gradientPart(context, slot);
            }
        }
        return balance.closeAs(event::Cause::Gradient, std::move(parts));
    }
};

} // namespace

RulePointer gradientRule() { return std::make_shared<const GradientRule>(); }

RulePointer readGradient(ParameterReader&) { return gradientRule(); }

} // namespace retro::lrp
