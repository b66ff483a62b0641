// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace retro::lrp
{

namespace
{

constexpr std::array<std::string_view, 2> kPlusForms{"split", "raw"};
constexpr std::array<std::string_view, 2> kBiasParts{"own", "both"};
constexpr double kUsualAlpha = 2;
constexpr double kUsualBeta = 1;

/// The share of those products x·W that have the sign of D: `own` and `other` are the weights of x⁺ and of x⁻.
LinearShare shareOfSign(WeightPart own, WeightPart other, BiasParts bias, const LinearOptions& options, double factor)
{
    return {{{InputPart::Positive, {own, 0}}, {InputPart::Negative, {other, 0}}},
            bias == BiasParts::Own ? WeightVariant{own, 0} : WeightVariant{},
            options,
            factor};
}

} // namespace

RulePointer alphaBetaRule(double alpha, double beta, const LinearOptions& options, BiasParts parts)
{
    using enum WeightPart;
    LinearForm form{{shareOfSign(Positive, Negative, parts, options, alpha)}};
    if (beta != 0) {
        form.shares.push_back(shareOfSign(Negative, Positive, parts, options, -beta));
    }
    RuleParameters parameters = toParameters(options);
    if (alpha == 1 && beta == 0 && parts == BiasParts::Own) {
        return linearFormRule("z-plus", fmt::format("z-plus, epsilon {}", textOf(options)), std::move(parameters),
                              std::move(form));
    }
    parameters["alpha"] = alpha;
    parameters["beta"] = beta;
    parameters["bias_parts"] = std::string(kBiasParts[static_cast<std::size_t>(parts)]);
    return linearFormRule("alpha-beta",
                          fmt::format("alpha-beta {} {}, epsilon {}{}", alpha, beta, textOf(options),
                                      parts == BiasParts::Both ? ", whole bias in each part" : ""),
                          std::move(parameters), std::move(form));
}

RulePointer zPlusRule(const LinearOptions& options, PlusForm form)
{
    if (form == PlusForm::Split) {
        return alphaBetaRule(1, 0, options);
    }
    RuleParameters parameters = toParameters(options);
    parameters["form"] = std::string(kPlusForms[static_cast<std::size_t>(form)]);
    return linearFormRule("z-plus", fmt::format("z-plus raw, epsilon {}", textOf(options)), std::move(parameters),
                          {{{{{InputPart::Whole, {WeightPart::Positive, 0}}}, WeightVariant{}, options}}});
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
    const double alpha = reader.number("alpha", kUsualAlpha);
    const double beta = reader.number("beta", kUsualBeta);
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

std::optional<double> imbalanceOf(std::string_view name, const RuleParameters& parameters)
{
    const auto numberOr = [&parameters](std::string_view key, double usual) {
        const auto at = parameters.find(key);
        const auto* number = at == parameters.end() ? nullptr : std::get_if<double>(&at->second);
        return number != nullptr ? *number : usual;
    };
    return name == kAlphaBetaRule.name
               ? std::optional(numberOr("alpha", kUsualAlpha) - numberOr("beta", kUsualBeta) - 1)
               : std::nullopt;
}

} // namespace retro::lrp
