// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/ruleformulas.h"

#include "core/lrp/rules.h"
#include "core/ops/structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::lrp
{

namespace
{

using ops::StructureKind;

/// What Rule::text() says of a rule, and where it is applied.
struct FormulaWords
{
    std::string_view text;      ///< "gamma 0.25 original, epsilon 1e-06, bias zero"
    std::string_view structure; ///< "linear map"

    [[nodiscard]] bool has(std::string_view word) const { return text.find(word) != std::string_view::npos; }
    [[nodiscard]] bool is(StructureKind kind) const { return structure == ops::nameOf(kind); }
    /// What follows `word` up to the next comma: the "1e-06" of ", epsilon 1e-06".
    [[nodiscard]] std::string_view after(std::string_view word) const
    {
        const std::size_t at = text.find(word);
        const std::string_view rest = at == std::string_view::npos ? std::string_view() : text.substr(at + word.size());
        return rest.substr(0, rest.find(','));
    }
    /// The bias in a denominator: nothing where it is left out.
    [[nodiscard]] std::string bias(std::string_view term) const
    {
        return has(", bias zero") ? std::string() : fmt::format(" + {}", term);
    }
};

// What is handed to all inputs alike where the bias is spread; `own` is the denominator without its bias.
std::string spreadTerm(const FormulaWords& words, std::string_view own)
{
    if (!words.has(", bias spread")) {
        return {};
    }
    const std::string_view factor = words.after(", bias spread");
    return fmt::format(" +{}{} (R − s·{})/N for each of the N inputs", factor, factor.empty() ? "" : " of", own);
}

std::string weightFormula(const FormulaWords& words, std::string_view denominator, std::string_view bias,
                          std::string_view relevance, std::string_view own)
{
    return fmt::format("D = {}{}; R_in = {}{}, s = R/stab(D)", denominator, words.bias(bias), relevance,
                       spreadTerm(words, own));
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

std::string zPlusFormula(const FormulaWords& words)
{
    return words.text.starts_with("z-plus raw")
               ? weightFormula(words, "xW⁺", "b", "x·(s·W⁺ᵀ)", "xW⁺")
               : weightFormula(words, "x⁺W⁺ + x⁻W⁻", "b⁺", "x⁺·(s·W⁺ᵀ) + x⁻·(s·W⁻ᵀ)", "(x⁺W⁺ + x⁻W⁻)");
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

std::string zBoxFormula(const FormulaWords&)
{
    return "D = xW − low·W⁺ − high·W⁻; R_in = x·(s·Wᵀ) − low·(s·W⁺ᵀ) − high·(s·W⁻ᵀ), s = R/stab(D)";
}

std::string flatFormula(const FormulaWords&) { return "D = number of inputs; R_in = s·1ᵀ, s = R/stab(D)"; }

std::string wSquareFormula(const FormulaWords& words) { return weightFormula(words, "ΣW²", "b²", "s·(W²)ᵀ", "ΣW²"); }

// Which part of its gradient an operand gets.
std::string_view gradientShare(const FormulaWords& words)
{
    const std::string_view share = words.after(", share ");
    if (words.is(StructureKind::Differentiable)) {
        return share == "equal" ? ", times the operand's share" : "";
    }
    const bool isProduct =
        words.is(StructureKind::Bilinear) || words.is(StructureKind::Product) || words.structure.empty();
    if (!isProduct || share.empty()) {
        return "";
    }
    if (share == "equal") {
        return ", divided by the number of operands that carry relevance";
    }
    return share == "first" ? " for the first operand of a product, 0 for the other"
                            : " for the second operand of a product, 0 for the other";
}

std::string gradientFormula(const FormulaWords& words)
{
    return fmt::format("R_in = Jᵀ·R{}{}", words.has(kTimesEmbedding) ? ", of tokens Σ e·R over their embedding e" : "",
                       gradientShare(words));
}

std::string secantFormula(const FormulaWords& words)
{
    return words.is(StructureKind::Quotient) ? "R_a = R/b, R_b = 0; R_b = R·(a/b)/b where a carries no relevance"
                                             : "R_in = R·f(x)/x";
}

std::string detachedGradientFormula(const FormulaWords&)
{
    return "g = R·w/σ; R_in = g − mean(g), without the mean where none is subtracted";
}

std::string passFormula(const FormulaWords& words)
{
    if (words.is(StructureKind::ShapeMap)) {
        return "R_in = R, each element where it came from";
    }
    if (words.is(StructureKind::SumOfOperands) || words.is(StructureKind::Product)) {
        return "R_in = R for the one operand that is computed";
    }
    if (words.is(StructureKind::Differentiable)) {
        return "R_in = Wᵀ·R, W the weights of the resampling";
    }
    return words.is(StructureKind::Quotient) ? "R_a = R, R_b = 0; R_b = R where a carries no relevance" : "R_in = R";
}

// TopK maps elements; it has no first maximum but all that it gives.
std::string winnerFormula(const FormulaWords& words)
{
    return words.is(StructureKind::ShapeMap) ? "R_in = R, each element where it came from"
                                             : "R_in = R at the first maximum";
}

std::string stopFormula(const FormulaWords&) { return "R_in = 0"; }

std::string normFormula(const FormulaWords& words)
{
    if (words.is(StructureKind::SumOfOperands)) {
        return "z = Σ±x_k; R_k = ±x_k·R/stab(z)";
    }
    if (words.is(StructureKind::Differentiable)) {
        return "z = f(x); R_k = share of operand k · x_k·Jᵀ(R/stab(z))";
    }
    if (words.is(StructureKind::ElementWise)) {
        return "z = f(x); R_in = x·f'(x)·R/stab(z)";
    }
    return "z = f(x); R_in = x·Jᵀ(R/stab(z))";
}

std::string absRatioFormula(const FormulaWords& words)
{
    if (words.is(StructureKind::Reduction)) {
        return "R_i = R·|x_i|/(Σ|x| + ε)";
    }
    const std::string_view weight = words.is(StructureKind::Quotient) ? ", |1/b| for a divisor b" : "";
    return fmt::format("R_k = R·|x_k|/(Σ|x| + ε){} over the operands that carry relevance; R for the only one", weight);
}

std::string softmaxTaylorFormula(const FormulaWords& words)
{
    return fmt::format("R_in = x·(g − p·Σg), g = R; g = R/stab(y) of a logarithm y = ln p{}",
                       words.has(", lower triangle") ? "; 0 above the diagonal" : "");
}

std::string detachedDeviationFormula(const FormulaWords&)
{
    return "g = R/stab(y)·w/σ; R_in = x·(g − mean(g)), R where no mean is subtracted";
}

std::string signalFormula(const FormulaWords& words)
{
    const bool isSecond = words.after(", operand ") == "1";
    if (words.is(StructureKind::Bilinear)) {
        return fmt::format("z = ab; {}, s = R/stab(z)",
                           isSecond ? "R_b = b·(aᵀ·s), R_a = 0" : "R_a = a·(s·bᵀ), R_b = 0");
    }
    return "R_in = R for the signal, 0 for its gate";
}

std::string lutFormula(const FormulaWords& words)
{
    const std::string_view share = words.text.substr(std::min<std::size_t>(words.text.size(), 4)); // behind "lut "
    const std::string_view name = share.substr(0, share.find(','));
    return fmt::format(
        "s = R/stab(y); c_t = Σ s·row_t, shared among the comparisons of table t{}{}, half to each anchor",
        name.empty() ? "" : " by ", name);
}

/// The formula of a rule whatever its parameters and the node.
template <const char* Formula>
std::string fixedFormula(const FormulaWords&)
{
    return Formula;
}

constexpr char kUniformFormula[] = "R_in = R in equal parts";
constexpr char kProportionalFormula[] = "R_in = x·ΣR/stab(Σx) over windows";
constexpr char kSoftmaxWeightedFormula[] = "R_in = ΣR·softmax(βx) over windows, −β where the smallest wins";
constexpr char kDeconvNetFormula[] = "R_in = R⁺";
constexpr char kGuidedFormula[] = "R_in = R⁺ where x > 0";
constexpr char kBetaSmoothFormula[] = "R_in = R·sigmoid(βx)";
constexpr char kDecomposedFormula[] = "the rules of its parts";

struct RuleFormula
{
    std::string_view name;
    std::string (*write)(const FormulaWords&);
};

constexpr std::array kRuleFormulas{
    RuleFormula{"lrp-0", epsilonFormula},
    RuleFormula{"epsilon", epsilonFormula},
    RuleFormula{"z-plus", zPlusFormula},
    RuleFormula{"alpha-beta", alphaBetaFormula},
    RuleFormula{"gamma", gammaFormula},
    RuleFormula{"z-box", zBoxFormula},
    RuleFormula{"flat", flatFormula},
    RuleFormula{"w-square", wSquareFormula},
    RuleFormula{"gradient", gradientFormula},
    RuleFormula{"secant", secantFormula},
    RuleFormula{"detached-gradient", detachedGradientFormula},
    RuleFormula{"pass", passFormula},
    RuleFormula{"stop", stopFormula},
    RuleFormula{"norm", normFormula},
    RuleFormula{"uniform", fixedFormula<kUniformFormula>},
    RuleFormula{"winner-take-all", winnerFormula},
    RuleFormula{"proportional", fixedFormula<kProportionalFormula>},
    RuleFormula{"softmax-weighted", fixedFormula<kSoftmaxWeightedFormula>},
    RuleFormula{"deconvnet", fixedFormula<kDeconvNetFormula>},
    RuleFormula{"guided-backprop", fixedFormula<kGuidedFormula>},
    RuleFormula{"beta-smooth", fixedFormula<kBetaSmoothFormula>},
    RuleFormula{"abs-ratio", absRatioFormula},
    RuleFormula{"softmax-taylor", softmaxTaylorFormula},
    RuleFormula{"detached-deviation", detachedDeviationFormula},
    RuleFormula{"signal-take-all", signalFormula},
    RuleFormula{"decomposed", fixedFormula<kDecomposedFormula>},
    RuleFormula{"lut", lutFormula},
};

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

std::string formulaOf(std::string_view ruleText, std::string_view structure)
{
    const std::string_view name = ruleText.substr(0, ruleText.find_first_of(" ,"));
    const auto* found = std::ranges::find(kRuleFormulas, name, &RuleFormula::name);
    if (found == kRuleFormulas.end()) {
        return {};
    }
    const FormulaWords words{ruleText, structure};
    return found->write(words) + stabiliserNote(words) + filterNote(words);
}

} // namespace retro::lrp
