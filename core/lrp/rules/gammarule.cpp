// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace retro::lrp
{

namespace
{

constexpr std::array<std::string_view, 2> kForms{"split", "original"};

LinearForm gammaForm(double gamma, const GammaOptions& options)
{
    const WeightVariant up{WeightPart::GammaPositive, gamma};
    const WeightVariant down{WeightPart::GammaNegative, gamma};
    const auto bias = [&](WeightVariant own) { return options.scalesBias ? own : WeightVariant{}; };
    if (options.form == GammaForm::Original) {
        return {{{{{InputPart::Whole, up}}, bias(up), options.linear}}};
    }
    const auto branch = [&](WeightVariant onPositive, WeightVariant onNegative, Units units) {
        return LinearShare{{{InputPart::Positive, onPositive}, {InputPart::Negative, onNegative}},
                           bias(onPositive),
                           options.linear,
                           1,
                           units};
    };
    return {{branch(up, down, Units::Positive), branch(down, up, Units::Negative)}};
}

} // namespace

RulePointer gammaRule(double gamma, const LinearOptions& options)
{
    return gammaRule(gamma, GammaOptions{options, GammaForm::Split, true});
}

RulePointer gammaRule(double gamma, const GammaOptions& options)
{
    RuleParameters parameters = toParameters(options.linear);
    parameters["gamma"] = gamma;
    parameters["form"] = std::string(kForms[static_cast<std::size_t>(options.form)]);
    parameters["scale_bias"] = options.scalesBias;
    return linearFormRule("gamma",
                          fmt::format("gamma {}{}, epsilon {}{}", gamma,
                                      options.form == GammaForm::Original ? " original" : "", textOf(options.linear),
                                      options.scalesBias ? "" : ", bias as it is"),
                          std::move(parameters), gammaForm(gamma, options));
}

namespace
{

RulePointer readGamma(ParameterReader& reader)
{
    const double gamma = reader.number("gamma", 0.25);
    GammaOptions options;
    options.linear = reader.linearOptions(1e-6);
    options.form = static_cast<GammaForm>(reader.choice("form", kForms, 0));
    options.scalesBias = reader.flag("scale_bias", true);
    return gammaRule(gamma, options);
}

std::string gammaFormula(const FormulaWords& words)
{
    const bool isScaled = !words.has(", bias as it is");
    const std::string_view bias = isScaled ? "(b + γb⁺)" : "b";
    if (words.text.substr(0, words.text.find(',')).ends_with(" original")) {
        return weightFormula(words, "x(W + γW⁺)", bias, "x·(s·(W + γW⁺)ᵀ)", "x(W + γW⁺)");
    }
    const bool changes = isScaled && !words.has(", bias zero");
    return fmt::format("{} where z > 0; W⁺ and W⁻{} change places where z < 0",
                       weightFormula(words, "x⁺(W + γW⁺) + x⁻(W + γW⁻)", bias, "x⁺·(s·(W + γW⁺)ᵀ) + x⁻·(s·(W + γW⁻)ᵀ)",
                                     "(D without its bias)"),
                       changes ? ", b⁺ and b⁻" : "");
}

} // namespace

extern const RuleDeclaration kGammaRule{"gamma", readGamma, gammaFormula, "linear map", "Montavon et al. 2019"};

} // namespace retro::lrp
