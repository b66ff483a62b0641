// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/rule.h"
#include "core/lrp/rules/ruleparameters.h"

#include <optional>
#include <string_view>
#include <vector>

/// The relevance rules. Formulas, with sources, stand in docs/composites.md and at each function; R is the relevance
/// that arrives, s = R / stab(D), t⁺ = max(t, 0), t⁻ = min(t, 0).
namespace retro::lrp
{

/// What the two operands of a product of matrices get.
enum class BilinearShare : std::uint8_t {
    Half, ///< an equal part for each tracked operand: conserves
    Full  ///< all of the relevance for each tracked operand: duplicates (the peer's choice)
};

/// Which inputs the gamma rule is meant for.
enum class GammaForm : std::uint8_t {
    Split,   ///< of either sign: two branches by the sign of z (Andéol et al. 2021)
    Original ///< not negative: one branch, whatever the signs (Montavon et al. 2019; captum applies it to any input)
};
/// How z-plus treats inputs below zero.
enum class PlusForm : std::uint8_t {
    Split, ///< x⁺W⁺ + x⁻W⁻ + b⁺ (zennit)
    Raw    ///< x·W⁺ + b, right for inputs that are not negative (captum; others leave the bias out, too)
};
/// Which part of the bias stands in each denominator of alpha-beta.
enum class BiasParts : std::uint8_t {
    Own, ///< b⁺ with α, b⁻ with β (zennit)
    Both ///< b⁺ + b⁻ with each (iNNvestigate)
};
/// The switches of the gamma rule that peers differ in.
struct GammaOptions
{
    LinearOptions linear;
    GammaForm form = GammaForm::Split;
    bool scalesBias = true; ///< false: the bias enters unchanged
};

/// Linear map: D = z, R_in = x·(s·Wᵀ). Bilinear a·b: R_a = c·a·(s·bᵀ), R_b = c·b·(aᵀ·s) with c by `share`.
/// Normalisation y = x·scale + shift: R_in = x·scale·R/stab(y). With epsilon 0 this is LRP-0.
[[nodiscard]] RulePointer epsilonRule(const LinearOptions& options = {}, BilinearShare share = BilinearShare::Half);
/// Linear map: R_in = α·share over (x⁺W⁺ + x⁻W⁻ + b⁺) − β·share over (x⁺W⁻ + x⁻W⁺ + b⁻); α − β = 1, both ≥ 0. `parts`
/// says which bias stands in each.
[[nodiscard]] RulePointer alphaBetaRule(double alpha, double beta, const LinearOptions& options = {},
                                        BiasParts parts = BiasParts::Own);
/// Linear map: alpha-beta with α = 1, β = 0; or R_in = x·(s·W⁺ᵀ) with D = x·W⁺ + b (PlusForm::Raw).
[[nodiscard]] RulePointer zPlusRule(const LinearOptions& options = {}, PlusForm form = PlusForm::Split);
/// Linear map: where z > 0, D = x⁺(W+γW⁺) + x⁻(W+γW⁻) + (b+γb⁺); where z < 0, D = x⁺(W+γW⁻) + x⁻(W+γW⁺) + (b+γb⁻);
/// where z = 0 the relevance has no branch and is lost. z always has the bias.
[[nodiscard]] RulePointer gammaRule(double gamma = 0.25, const LinearOptions& options = {});
/// As above with all switches; GammaForm::Original: D = x(W+γW⁺) + b + γb⁺, R_in = x·(s·(W+γW⁺)ᵀ) everywhere.
[[nodiscard]] RulePointer gammaRule(double gamma, const GammaOptions& options);
/// Linear map whose input lies in [low, high]: D = xW − low·W⁺ − high·W⁻, R_in = x·(s·Wᵀ) − low·(s·W⁺ᵀ) −
/// high·(s·W⁻ᵀ). The bias cancels.
[[nodiscard]] RulePointer zBoxRule(double low, double high, const Stabiliser& stabiliser = {});
/// The same with bounds per channel (axis 1 of x), or one for all; each list has one number or as many as x channels.
[[nodiscard]] RulePointer zBoxRule(std::vector<double> low, std::vector<double> high,
                                   const Stabiliser& stabiliser = {});
/// Linear map: D = number of inputs of the unit, R_in = s·1ᵀ. No bias.
[[nodiscard]] RulePointer flatRule(const Stabiliser& stabiliser = {});
/// Linear map: D = ΣW² + b², R_in = s·(W²)ᵀ.
[[nodiscard]] RulePointer wSquareRule(const LinearOptions& options = {});
/// To which operands of a·b (product, bilinear) the gradient goes, when several are tracked.
enum class GradientShare : std::uint8_t {
    Whole,  ///< each gets all of its gradient
    Equal,  ///< each gets 1/n of it; of a function of a degree, its share
    First,  ///< operand 0 gets all and the other nothing, like a gate
    Second, ///< operand 1 gets all
};

/// What the gradient rule does beside the gradient, so that gradient × value is a relevance.
struct GradientOptions
{
    GradientShare share = GradientShare::Whole;
    /// The tokens of an embedding e get Σ e·R over their rows, not ΣR.
    bool timesEmbedding = false;
    bool operator==(const GradientOptions&) const = default;
};
/// How the text of a gradient rule with timesEmbedding ends.
inline constexpr std::string_view kTimesEmbedding = ", times embedding";
/// Every structure: the gradient, R_in = Jᵀ·R.
[[nodiscard]] RulePointer gradientRule(const GradientOptions& options = {});
/// The rule pass for gradients. Element-wise f, normalisation: R_in = R·f(x)/x, 0 where x is 0. Quotient a/b: the
/// numerator gets R/b and the divisor nothing (R·a/b², when it alone is computed). (Arras et al. 2025)
[[nodiscard]] RulePointer secantRule();
/// Element-wise, normalisation (by stored statistics or its own), softmax, and a linear map whose result has the shape
/// of its input: R_in = R. Shape maps: each element goes back
/// to where it came from. Quotient: the numerator takes all (the divisor, when it alone carries relevance).
[[nodiscard]] RulePointer passRule();
/// Every structure: R_in = 0.
[[nodiscard]] RulePointer stopRule();
/// Sum of operands, reduction, average pooling: the epsilon rule on f without parameters, R_in = x·Jᵀ(R/stab(f(x))).
/// Constant operands of a sum absorb their share.
[[nodiscard]] RulePointer normRule(const Stabiliser& stabiliser = {});
/// Sum of operands and product: equal parts for the tracked operands. Reduction and average pooling: equal parts for
/// the elements that were averaged.
[[nodiscard]] RulePointer uniformRule();
/// Max pooling: the first maximum of each window, in scan order, takes all.
[[nodiscard]] RulePointer winnerRule();
/// Max pooling taken for a sum: R_in = x·Σ R / stab(Σ x), sums over the windows that read x and over one window.
[[nodiscard]] RulePointer proportionalRule(const Stabiliser& stabiliser);
/// ReLU: R_in = R⁺ (Zeiler and Fergus).
[[nodiscard]] RulePointer deconvNetRule();
/// ReLU: R_in = R⁺ where x > 0 (Springenberg et al.).
[[nodiscard]] RulePointer guidedBackpropRule();
/// ReLU: R_in = R·sigmoid(βx), the derivative of the softplus that smooths it.
[[nodiscard]] RulePointer betaSmoothRule(double beta = 10);
/// Sum of operands, product, quotient: R_i = R·m_i/(Σ_j m_j + epsilon) over the tracked operands with m = |x|, and
/// |1/b| for a divisor; a single tracked operand takes all. Reduction: the same over the elements that were summed.
[[nodiscard]] RulePointer absRatioRule(double epsilon = 1e-11);
/// Softmax p of x: R_i = x_i·(R_i − p_i·ΣR), the Taylor expansion at x with its bias left out; x of masked elements
/// (below −1e30) counts as 0. Of ln p: R_i = x_i·(g_i − p_i·Σg) with g = R/stab(ln p). `causal` keeps only the lower
/// triangle of the last two axes.
[[nodiscard]] RulePointer softmaxTaylorRule(bool causal = false, const Stabiliser& stabiliser = {});

/// Self-normalisation with its deviation held constant: g = R/stab(y)·scale/deviation, R_in = x·(g − mean(g)); the bias
/// absorbs its share. One without a mean (RMSNormalization, LRN) passes R on.
[[nodiscard]] RulePointer detachedDeviationRule(const Stabiliser& stabiliser = {});
/// The gradient with the deviation held constant: R_in = g − mean(g) with g = R·scale/deviation; one that cannot be
/// looked at so (LRN) gets R·f(x)/x.
[[nodiscard]] RulePointer detachedGradientRule();
/// Product and bilinear a·b: operand `signal` (0 or 1) takes all, the other, a gate or attention, counts as constant:
/// for a product R itself, else a·(s·bᵀ) or b·(aᵀ·s). A signal that carries no relevance leaves all to the other.
[[nodiscard]] RulePointer signalTakesAllRule(std::size_t signal, const Stabiliser& stabiliser = {});

/// Any rule, on the largest `fraction` (above 0, at most 1) of the relevance that arrives: per sample and output the
/// largest numbers in signed order stay, at least one; the others are booked as filtered and not made up for. 1 keeps
/// all: `rule` itself.
[[nodiscard]] RulePointer filteredRule(RulePointer rule, double fraction);

/// Composed: the rules that the composite gives to the operator's parts (assignRules takes it apart).
[[nodiscard]] RulePointer decomposedRule();

/// How the relevance of a table goes to the comparisons that chose its row (docs/lut.md). With f = what undoing a
/// comparison of difference u takes away from the table's score:
enum class TableShare : std::uint8_t {
    FlipContrast, ///< by |f| / (1 + |u|)
    WeakestBit,   ///< all to the comparison through which the gradient goes
    SignedFlip,   ///< f / (1 + |u|) / n; the rest stays with the table
    Shapley,      ///< Shapley values over the comparisons; the mean row stays with the table
    Gradient,     ///< x·Jᵀs with the surrogate gradient: does not conserve
};
/// Table lookup y = Σ_t row_t: s = R / stab(y), table t gets c_t = Σ s·row_t and hands it to its comparisons by
/// `share`, half of each to either anchor. With positions the bits of the later one, the earlier one and the code of
/// their distance take part alike.
[[nodiscard]] RulePointer lutRule(const Stabiliser& stabiliser = {}, TableShare share = TableShare::FlipContrast);

/// A rule by its name and parameters; each but "decomposed" also takes "filter" (filteredRule()). Errors (Usage):
/// unknown name (lists the known ones), unknown or wrong parameter; `where` is "rule" or the parameter's name.
[[nodiscard]] base::Result<RulePointer> makeRule(std::string_view name, const RuleParameters& parameters);
/// What others ask of a rule whose name alone they know, as a recorded run has it.
struct RuleTraits
{
    bool handsOn = false;         ///< what arrives goes on as it is
    bool handsNothingOn = false;  ///< all that arrives ends there
    bool isGradient = false;      ///< what goes on is the gradient
    bool isOfGradients = false;   ///< it stands in composites of gradients, at least one of which is a gradient
    bool isForOneLayer = false;   ///< one layer of a model has it by design
    bool dividesByResult = false; ///< by the result of the layer, with all of its weights
    bool firstTakesAll = false;   ///< of equal elements the first takes all
};
/// Of the rule whose name or text this is; none of them for what is no rule.
[[nodiscard]] RuleTraits traitsOf(std::string_view ruleText);
/// Of a rule with factors that have to differ by 1: by how much they differ more than that. Nothing for other rules.
[[nodiscard]] std::optional<double> imbalanceOf(std::string_view name, const RuleParameters& parameters);
/// Names of all rules, in the order of the documentation.
[[nodiscard]] std::vector<std::string_view> ruleNames();

} // namespace retro::lrp
