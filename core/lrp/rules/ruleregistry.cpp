// SPDX-License-Identifier: Apache-2.0
#include "core/base/editdistance.h"
#include "core/lrp/rules/decomposedrule.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/ruleformulas.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace retro::lrp
{

// A new rule is its own file, which defines k…Rule, and its line here.
// clang-format off
#define RETRO_RULES(X) \
    X(kLrpZeroRule) \
    X(kEpsilonRule) \
    X(kZPlusRule) \
    X(kAlphaBetaRule) \
    X(kGammaRule) \
    X(kZBoxRule) \
    X(kFlatRule) \
    X(kWSquareRule) \
    X(kGradientRule) \
    X(kSecantRule) \
    X(kDetachedGradientRule) \
    X(kPassRule) \
    X(kStopRule) \
    X(kNormRule) \
    X(kUniformRule) \
    X(kWinnerRule) \
    X(kProportionalRule) \
    X(kSoftmaxWeightedRule) \
    X(kDeconvNetRule) \
    X(kGuidedBackpropRule) \
    X(kBetaSmoothRule) \
    X(kAbsRatioRule) \
    X(kSoftmaxTaylorRule) \
    X(kDetachedDeviationRule) \
    X(kSignalTakesAllRule) \
    X(kDecomposedRule) \
    X(kLutRule)
// clang-format on

#define RETRO_DECLARED(rule) extern const RuleDeclaration rule;
RETRO_RULES(RETRO_DECLARED)
#undef RETRO_DECLARED

namespace
{

#define RETRO_ADDRESS(rule) &rule,
constexpr std::array kDeclarations{RETRO_RULES(RETRO_ADDRESS)};
#undef RETRO_ADDRESS

const RuleDeclaration* declarationOf(std::string_view name)
{
    const auto* found = std::ranges::find(kDeclarations, name, &RuleDeclaration::name);
    return found == kDeclarations.end() ? nullptr : *found;
}

/// Of the rule whose text this is.
const RuleDeclaration* declarationIn(std::string_view text)
{
    return declarationOf(text.substr(0, text.find_first_of(" ,")));
}

// What is handed to all inputs alike where the bias is spread; `own` is the denominator without its bias.
std::string spreadTerm(const FormulaWords& words, std::string_view own)
{
    if (!words.has(", bias spread")) {
        return {};
    }
    const std::string_view factor = words.after(", bias spread");
    return fmt::format(" +{}{} (R − s·{})/N for each of the N inputs", factor, factor.empty() ? "" : " of", own);
}

// What stab() is where it is not D + ε·sgn(D).
std::string stabiliserNote(const FormulaWords& words)
{
    const std::string_view sign = words.has(", unsigned") ? "" : "·sgn(D)";
    if (words.has(", clip")) {
        return sign.empty() ? "; stab(D) = max(D, ε)" : "; stab(D) = max(|D|, ε)·sgn(D)";
    }
    if (words.has(", rms")) {
        return fmt::format("; stab(D) = D + ε·rms(D){}", sign);
    }
    if (words.text.starts_with("lrp-0")) {
        return "; stab(D) = D, 0/0 = 0";
    }
    return sign.empty() ? "; stab(D) = D + ε" : "";
}

std::string filterNote(const FormulaWords& words)
{
    const std::string_view fraction = words.after(", filter ");
    return fraction.empty() ? std::string() : fmt::format("; of R only the largest {} of its elements", fraction);
}

} // namespace

std::string weightFormula(const FormulaWords& words, std::string_view denominator, std::string_view bias,
                          std::string_view relevance, std::string_view own)
{
    return fmt::format("D = {}{}; R_in = {}{}, s = R/stab(D)", denominator, words.bias(bias), relevance,
                       spreadTerm(words, own));
}

RuleTraits traitsOf(std::string_view ruleText)
{
    const RuleDeclaration* declaration = declarationIn(ruleText);
    return declaration == nullptr ? RuleTraits() : declaration->traits;
}

std::vector<std::string_view> ruleNames()
{
    std::vector<std::string_view> names;
    std::ranges::transform(kDeclarations, std::back_inserter(names), &RuleDeclaration::name);
    return names;
}

base::Result<RulePointer> makeRule(std::string_view name, const RuleParameters& parameters)
{
    const RuleDeclaration* declaration = declarationOf(name);
    if (declaration == nullptr) {
        return base::usageError(fmt::format("there is no rule \"{}\"; known are {}{}", name,
                                            fmt::join(ruleNames(), ", "), base::guessText(name, ruleNames())),
                                "rule");
    }
    ParameterReader reader(parameters);
    RulePointer rule = declaration->read(reader);
    if (!isDecomposed(*rule)) {
        rule = filteredRule(std::move(rule), readFraction(reader));
    }
    RETRO_CHECK(reader.finish());
    return rule;
}

std::vector<RuleEntry> ruleEntries()
{
    std::vector<RuleEntry> entries;
    for (const RuleDeclaration* one : kDeclarations) {
        const RuleParameters none;
        ParameterReader reader(none);
        const RulePointer rule = one->read(reader);
        entries.push_back({one->name, one->use, one->source, reader.described(), formulaOf(rule->text())});
    }
    return entries;
}

std::string formulaOf(std::string_view ruleText, std::string_view structure)
{
    const RuleDeclaration* found = declarationIn(ruleText);
    if (found == nullptr) {
        return {};
    }
    const FormulaWords words{ruleText, structure};
    return found->formula(words) + stabiliserNote(words) + filterNote(words);
}

} // namespace retro::lrp
