// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/titledrule.h"
#include "core/ops/algebraover.h"
#include "core/ops/stabiliseddivision.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

constexpr std::array<std::string_view, 2> kEpsilonShareNames{"half", "full"};

class EpsilonRule final : public TitledRule
{
public:
    EpsilonRule(const LinearOptions& options, BilinearShare share)
        : TitledRule(titleOf(options, share)), m_options(options),
          m_share(share), m_form{{{{LinearTerm{}}, WeightVariant{}, options}}}
    {}

    [[nodiscard]] const LinearForm* linearForm() const override { return &m_form; }
    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        switch (op.structure().kind()) {
        case ops::StructureKind::LinearMap:
            return readsOf(m_form, as<ops::LinearMap>(op.structure()));
        case ops::StructureKind::Bilinear:
            return {ops::Reads::allOperands().operands, ops::Reads::bit(0)};
        default:
            return ops::Reads::firstOperand();
        }
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        switch (context.op.structure().kind()) {
        case ops::StructureKind::LinearMap:
            return weighForm(m_form, context);
        case ops::StructureKind::Bilinear:
            return onlyFirst(context, weighProduct(context));
        default:
            return onlyFirst(context, weighNormalisation(context));
        }
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        switch (context.op.structure().kind()) {
        case ops::StructureKind::LinearMap:
            return applyForm(m_form, context);
        case ops::StructureKind::Bilinear:
            return applyToBilinear(context);
        default:
            return applyToNormalisation(context);
        }
    }

private:
    static RuleTitle titleOf(const LinearOptions& options, BilinearShare share)
    {
        using enum ops::StructureKind;
        const bool isZero = options == LinearOptions{{StabiliserKind::Add, 0, true}, {}};
        RuleParameters parameters = isZero ? RuleParameters() : toParameters(options);
        parameters["bilinear"] = std::string(kEpsilonShareNames[static_cast<std::size_t>(share)]);
        std::string text = isZero ? std::string("lrp-0") : fmt::format("epsilon {}", textOf(options));
        text += share == BilinearShare::Full ? ", full share for each operand" : "";
        return {isZero ? "lrp-0" : "epsilon", {LinearMap, Bilinear, Normalisation}, std::move(parameters), text};
    }

    [[nodiscard]] double shareOf(std::span<const std::uint8_t> tracked) const
    {
        return m_share == BilinearShare::Full ? 1 : 1 / static_cast<double>(takersOf(tracked));
    }

    [[nodiscard]] Tensor weighProduct(const WeighContext& context) const
    {
        const auto& product = as<ops::Bilinear>(context.op.structure());
        std::vector<Tensor> v(context.weights.size());
        for (std::size_t slot = 0; slot < 2; ++slot) {
            if (context.weights[slot].isValid()) {
                v[slot] = algebra::multiply(context.operands[slot], context.weights[slot]);
            }
        }
        const Tensor z =
            context.outputs[0].isValid() ? context.outputs[0] : product.apply(context.operands[0], context.operands[1]);
        const Tensor sum = alongDerivative(context, v)[0];
        return algebra::scale(algebra::stabilisedQuotient(sum, z, m_options.stabiliser), shareOf(context.tracked));
    }

    [[nodiscard]] Tensor weighNormalisation(const WeighContext& context) const
    {
        const auto& affine = as<ops::Normalisation>(context.op.structure());
        const Tensor& w = context.weights[0];
        const Tensor own = algebra::multiplyBroadcast(context.operands[0], affine.scale());
        const Tensor y = m_options.bias != BiasPolicy::Zero ? algebra::addBroadcast(own, affine.shift()) : own;
        const double absorbed = m_options.bias == BiasPolicy::Spread ? 1 - m_options.biasFactor : 1;
        const Tensor s = algebra::stabilisedQuotient(w, y, m_options.stabiliser);
        return throughAffine(w, algebra::multiply(s, own), absorbed); // element by element: its own transpose
    }

    [[nodiscard]] std::vector<Tensor> applyToBilinear(const RuleContext& context) const
    {
        const auto& product = as<ops::Bilinear>(context.op.structure());
        const Tensor& a = context.operands[0];
        const Tensor& b = context.operands[1];
        const auto takers = static_cast<double>(takersOf(context.tracked));
        const double share = shareOf(context.tracked);
        Balance balance(context);
        const Tensor z = context.outputs[0].isValid() ? context.outputs[0] : product.apply(a, b);
        algebra::DivisionAmounts amounts;
        const Tensor s = balance.quotient(context.relevance[0], {z}, m_options.stabiliser, amounts);
        std::vector<Tensor> parts = forTracked(context, [&](std::size_t slot) {
            return balance.product(product.pullback(s, a, b, slot), context.operands[slot], share);
        });
        if (balance.isWanted()) {
            balance.bookDivision(amounts);
            balance.book(event::Cause::Duplicate, (1 - share * takers) * amounts.sums.product);
        }
        return balance.close(std::move(parts));
    }

    [[nodiscard]] std::vector<Tensor> applyToNormalisation(const RuleContext& context) const
    {
        const auto& affine = as<ops::Normalisation>(context.op.structure());
        Balance balance(context);
        const Tensor own = algebra::multiplyBroadcast(context.operands[0], affine.scale());
        const bool withShift = m_options.bias != BiasPolicy::Zero;
        const Tensor y = withShift ? algebra::addBroadcast(own, affine.shift()) : own;
        const Tensor s = algebra::stabilisedQuotient(context.relevance[0], y, m_options.stabiliser);
        const double absorbed = m_options.bias == BiasPolicy::Spread ? 1 - m_options.biasFactor : 1;
        if (balance.isWanted() && absorbed > 0) {
            const double shared = balance.bookDivision(context.relevance[0], s, y, absorbed);
            balance.book(event::Cause::Bias, absorbed * (shared - algebra::dot(s, own)));
        }
        return balance.close(
            onlySlot(context, 0, throughAffine(context.relevance[0], algebra::multiply(s, own), absorbed)));
    }

    // One input per unit: spreading gives it everything.
    static Tensor throughAffine(const Tensor& relevance, Tensor share, double absorbed)
    {
        if (absorbed == 1) {
            return share;
        }
        return absorbed == 0 ? relevance : algebra::addScaled(share, algebra::subtract(relevance, share), 1 - absorbed);
    }

    LinearOptions m_options;
    BilinearShare m_share;
    LinearForm m_form;
};

BilinearShare readShare(ParameterReader& reader)
{
    return static_cast<BilinearShare>(reader.choice("bilinear", kEpsilonShareNames, 0));
}

} // namespace

RulePointer epsilonRule(const LinearOptions& options, BilinearShare share)
{
    return std::make_shared<const EpsilonRule>(options, share);
}

namespace
{

RulePointer readLrpZero(ParameterReader& reader)
{
    return epsilonRule({{StabiliserKind::Add, 0, true}, BiasPolicy::Absorb}, readShare(reader));
}

std::string linearFormula(const FormulaWords& words) { return weightFormula(words, "xW", "b", "x·(s·Wᵀ)", "xW"); }

std::string epsilonFormula(const FormulaWords& words)
{
    if (words.is(StructureKind::Bilinear)) {
        const std::string_view half = words.has(", full share") ? "" : "½·";
        return fmt::format("z = ab; R_a = {0}a·(s·bᵀ), R_b = {0}b·(aᵀ·s), s = R/stab(z){1}", half,
                           half.empty() ? "" : "; whole where only one of the two carries relevance");
    }
    if (words.is(StructureKind::Normalisation)) {
        return weightFormula(words, "x·scale", "shift", "x·scale·s", "x·scale");
    }
    return linearFormula(words);
}

RulePointer readEpsilon(ParameterReader& reader)
{
    const LinearOptions options = reader.linearOptions(1e-6);
    return epsilonRule(options, readShare(reader));
}

} // namespace

extern const RuleDeclaration kLrpZeroRule{"lrp-0", readLrpZero, epsilonFormula, "linear map, bilinear",
                                          "Bach et al. 2015"};
extern const RuleDeclaration kEpsilonRule{"epsilon", readEpsilon, epsilonFormula, "linear map, bilinear, normalisation",
                                          "Bach et al. 2015"};

} // namespace retro::lrp
