// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/lineardistribution.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/ops/algebraover.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

constexpr std::array<std::string_view, 2> kPlusForms{"split", "raw"};
constexpr std::array<std::string_view, 2> kBiasParts{"own", "both"};
constexpr WeightVariant kPositive{WeightPart::Positive, 0};
constexpr WeightVariant kNegative{WeightPart::Negative, 0};

class AlphaBetaRule final : public LinearMapRule
{
public:
    AlphaBetaRule(double alpha, double beta, const LinearOptions& options, BiasParts parts)
        : m_alpha(alpha), m_beta(beta), m_options(options), m_parts(parts)
    {}

    [[nodiscard]] std::string_view name() const override { return isZPlus() ? "z-plus" : "alpha-beta"; }

    [[nodiscard]] std::string text() const override
    {
        return isZPlus() ? fmt::format("z-plus, epsilon {}", textOf(m_options))
                         : fmt::format("alpha-beta {} {}, epsilon {}{}", m_alpha, m_beta, textOf(m_options),
                                       m_parts == BiasParts::Both ? ", whole bias in each part" : "");
    }

    [[nodiscard]] RuleParameters parameters() const override
    {
        RuleParameters result;
        write(m_options, result);
        if (!isZPlus()) {
            result["alpha"] = m_alpha;
            result["beta"] = m_beta;
            result["bias_parts"] = std::string(kBiasParts[static_cast<std::size_t>(m_parts)]);
        }
        return result;
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        const Tensor& x = context.operands[map.operandSlot()];
        const Tensor& w = context.weights[map.operandSlot()];
        Tensor sum =
            weighThrough({map, signSplit(x, kPositive, kNegative), bias(kPositive), m_options}, w, context.memory);
        sum = m_alpha == 1 ? sum : algebra::scale(sum, m_alpha);
        if (m_beta != 0) {
            sum = algebra::addScaled(
                sum,
                weighThrough({map, signSplit(x, kNegative, kPositive), bias(kNegative), m_options}, w, context.memory),
                -m_beta);
        }
        return onlyFirst(context, sum);
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        const Tensor& x = context.operands[map.operandSlot()];
        Balance balance(context);
        LinearDistribution activating{map, signSplit(x, kPositive, kNegative), bias(kPositive), m_options};
        activating.isWhole = m_alpha == 1 && m_beta == 0;
        Tensor part = distribute(std::move(activating), context.relevance[0], balance, m_alpha);
        if (m_alpha != 1) {
            part = algebra::scale(part, m_alpha);
        }
        if (m_beta != 0) {
            const LinearDistribution inhibiting{map, signSplit(x, kNegative, kPositive), bias(kNegative), m_options};
            part = algebra::addScaledOver(std::move(part),
                                          distribute(inhibiting, context.relevance[0], balance, -m_beta), -m_beta);
        }
        return balance.close(onlySlot(context, map.operandSlot(), std::move(part)));
    }

private:
    [[nodiscard]] bool isZPlus() const { return m_alpha == 1 && m_beta == 0 && m_parts == BiasParts::Own; }
    [[nodiscard]] WeightVariant bias(WeightVariant own) const
    {
        return m_parts == BiasParts::Own ? own : WeightVariant{};
    }

    double m_alpha;
    double m_beta;
    LinearOptions m_options;
    BiasParts m_parts;
};

/// D = x·W⁺ + b, whatever the signs of x.
class RawPlusRule final : public LinearMapRule
{
public:
    explicit RawPlusRule(const LinearOptions& options) : m_options(options) {}

    [[nodiscard]] std::string_view name() const override { return "z-plus"; }

    [[nodiscard]] std::string text() const override { return fmt::format("z-plus raw, epsilon {}", textOf(m_options)); }

    [[nodiscard]] RuleParameters parameters() const override
    {
        RuleParameters result;
        write(m_options, result);
        result["form"] = std::string(kPlusForms[static_cast<std::size_t>(PlusForm::Raw)]);
        return result;
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        const std::size_t slot = map.operandSlot();
        return onlyFirst(context,
                         weighThrough({map, {{context.operands[slot], kPositive, 1}}, WeightVariant{}, m_options},
                                      context.weights[slot], context.memory));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        Balance balance(context);
        LinearDistribution distribution{
            map, {{context.operands[map.operandSlot()], kPositive, 1}}, WeightVariant{}, m_options};
        distribution.isWhole = true;
        Tensor part = distribute(std::move(distribution), context.relevance[0], balance);
        return balance.close(onlySlot(context, map.operandSlot(), std::move(part)));
    }

private:
    LinearOptions m_options;
};

} // namespace

RulePointer alphaBetaRule(double alpha, double beta, const LinearOptions& options, BiasParts parts)
{
    return std::make_shared<const AlphaBetaRule>(alpha, beta, options, parts);
}

RulePointer zPlusRule(const LinearOptions& options, PlusForm form)
{
    return form == PlusForm::Split ? alphaBetaRule(1, 0, options) : std::make_shared<const RawPlusRule>(options);
}

namespace
{

RulePointer readZPlus(ParameterReader& reader)
{
    const LinearOptions options = reader.linearOptions(1e-6);
    return zPlusRule(options, static_cast<PlusForm>(reader.choice("form", kPlusForms, 0)));
}

std::string zPlusFormula(const FormulaWords& words)
{
    return words.text.starts_with("z-plus raw")
               ? weightFormula(words, "xW⁺", "b", "x·(s·W⁺ᵀ)", "xW⁺")
               : weightFormula(words, "x⁺W⁺ + x⁻W⁻", "b⁺", "x⁺·(s·W⁺ᵀ) + x⁻·(s·W⁻ᵀ)", "(x⁺W⁺ + x⁻W⁻)");
}

RulePointer readAlphaBeta(ParameterReader& reader)
{
    const double alpha = reader.number("alpha", 2);
    const double beta = reader.number("beta", 1);
    if (std::abs(alpha - beta - 1) > 1e-9) {
        reader.fail("alpha", fmt::format("alpha − beta must be 1, not {}", alpha - beta));
    }
    const LinearOptions options = reader.linearOptions(1e-6);
    return alphaBetaRule(alpha, beta, options, static_cast<BiasParts>(reader.choice("bias_parts", kBiasParts, 0)));
}

std::string alphaBetaFormula(const FormulaWords& words)
{
    const bool isWhole = words.has(", whole bias in each part");
    const std::string spread =
        words.has(", bias spread")
            ? fmt::format("; of what each part k keeps back, R − s_k·(D_k without its bias),{} goes to its N inputs "
                          "alike",
                          words.after(", bias spread").empty() ? std::string(" all")
                                                               : std::string(words.after(", bias spread")))
            : std::string();
    return fmt::format("D₁ = x⁺W⁺ + x⁻W⁻{}, D₂ = x⁺W⁻ + x⁻W⁺{}; R_in = α·(x⁺·(s₁·W⁺ᵀ) + x⁻·(s₁·W⁻ᵀ)) − "
                       "β·(x⁺·(s₂·W⁻ᵀ) + x⁻·(s₂·W⁺ᵀ)), s_k = R/stab(D_k){}",
                       words.bias(isWhole ? "b" : "b⁺"), words.bias(isWhole ? "b" : "b⁻"), spread);
}

} // namespace

extern const RuleDeclaration kZPlusRule{"z-plus", readZPlus, zPlusFormula, "linear map", "Montavon et al. 2017"};
extern const RuleDeclaration kAlphaBetaRule{"alpha-beta", readAlphaBeta, alphaBetaFormula, "linear map",
                                            "Bach et al. 2015"};

} // namespace retro::lrp
