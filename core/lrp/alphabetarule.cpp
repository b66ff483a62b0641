// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/lineardistribution.h"
#include "core/lrp/ruleregistry.h"

#include <fmt/format.h>

#include <cmath>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

constexpr WeightVariant kPositive{WeightPart::Positive, 0};
constexpr WeightVariant kNegative{WeightPart::Negative, 0};

class AlphaBetaRule final : public Rule
{
public:
    AlphaBetaRule(double alpha, double beta, const LinearOptions& options)
        : m_alpha(alpha), m_beta(beta), m_options(options)
    {}

    [[nodiscard]] std::string_view name() const override { return isZPlus() ? "z-plus" : "alpha-beta"; }

    [[nodiscard]] std::string text() const override
    {
        return isZPlus() ? fmt::format("z-plus, epsilon {}", textOf(m_options))
                         : fmt::format("alpha-beta {} {}, epsilon {}", m_alpha, m_beta, textOf(m_options));
    }

    [[nodiscard]] RuleParameters parameters() const override
    {
        RuleParameters result;
        write(m_options, result);
        if (!isZPlus()) {
            result["alpha"] = m_alpha;
            result["beta"] = m_beta;
        }
        return result;
    }

    [[nodiscard]] bool accepts(const ops::Structure& structure) const override
    {
        return structure.kind() == ops::StructureKind::LinearMap;
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        return readsOperandOf(as<ops::LinearMap>(op.structure()));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        const Tensor& x = context.operands[map.operandSlot()];
        Balance balance(context);
        const LinearDistribution activating{map, signSplit(x, kPositive, kNegative), kPositive, m_options};
        Tensor part = distribute(activating, context.relevance[0], balance, m_alpha);
        if (m_alpha != 1) {
            part = algebra::scale(part, m_alpha);
        }
        if (m_beta != 0) {
            const LinearDistribution inhibiting{map, signSplit(x, kNegative, kPositive), kNegative, m_options};
            part = algebra::addScaled(part, distribute(inhibiting, context.relevance[0], balance, -m_beta), -m_beta);
        }
        return balance.close(onlySlot(context, map.operandSlot(), std::move(part)));
    }

private:
    [[nodiscard]] bool isZPlus() const { return m_alpha == 1 && m_beta == 0; }

    double m_alpha;
    double m_beta;
    LinearOptions m_options;
};

} // namespace

RulePointer alphaBetaRule(double alpha, double beta, const LinearOptions& options)
{
    return std::make_shared<const AlphaBetaRule>(alpha, beta, options);
}

RulePointer zPlusRule(const LinearOptions& options) { return alphaBetaRule(1, 0, options); }

RulePointer readZPlus(ParameterReader& reader) { return zPlusRule(reader.linearOptions(1e-6)); }

RulePointer readAlphaBeta(ParameterReader& reader)
{
    const double alpha = reader.number("alpha", 2);
    const double beta = reader.number("beta", 1);
    if (std::abs(alpha - beta - 1) > 1e-9) {
        reader.fail("alpha", fmt::format("alpha − beta must be 1, not {}", alpha - beta));
    }
    return alphaBetaRule(alpha, beta, reader.linearOptions(1e-6));
}

} // namespace retro::lrp
