// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/linearrule.h"
#include "core/lrp/rules/ruleparameters.h"
#include "core/ops/structure.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::lrp
{

using ops::WeightPart;
using ops::WeightVariant;

/// Divides without moving the denominator: 0/0 := 0 alone.
inline constexpr ops::algebra::Stabiliser kUnstabilised{ops::algebra::StabiliserKind::Add, 0, true};

/// What a term takes of the operand x of a linear map: x, x⁺, x⁻, x less a bound, or 1 at each element.
enum class InputPart : std::uint8_t { Whole, Positive, Negative, AboveLow, BelowHigh, One };

/// One contribution x_k · W_k to the denominator of a share.
struct LinearTerm
{
    InputPart input = InputPart::Whole;
    WeightVariant weight{};
};

/// The units of a linear map whose relevance a share takes: all, or those whose result z is above 0, or below 0.
enum class Units : std::uint8_t { All, Positive, Negative };

/// D = Σ_k x_k·W_k + b′, s = R / stab(D), part = Σ_k x_k · (s·W_kᵀ). Under BiasPolicy::Zero, b′ is left out; under
/// Spread, of what b′ and the stabiliser keep back, R − s·(D − b′), the bias factor is handed to the N inputs of each
/// unit in equal parts, which conserves exactly when it is 1.
struct LinearShare
{
    std::vector<LinearTerm> terms;
    /// How the bias enters the denominator; none: not at all.
    std::optional<WeightVariant> bias{};
    LinearOptions options{};
    double factor = 1; ///< of the part
    Units units = Units::All;

    /// D is z, the map's result.
    [[nodiscard]] bool dividesByResult() const;
    /// D is nowhere below 0, whatever x is.
    [[nodiscard]] bool isNowhereNegative() const;
    /// What is handed to an element of x is 0 where the element is 0.
    [[nodiscard]] bool vanishesWithInput() const;
};

/// What a rule does at a linear map: Σ factor · part over its shares (docs/composites.md, "Linear maps"). It is said
/// here and nowhere else; the pass, its transpose, the parameters and written graphs read it. A share of the units
/// above 0 stands in front of one of those below; what arrives where z is 0 has no share and is lost.
struct LinearForm
{
    std::vector<LinearShare> shares;
    /// Bounds of x, of InputPart::AboveLow and BelowHigh: one number, or one per channel (axis 1 of x).
    std::vector<double> low{};
    std::vector<double> high{};

    /// A box: its one share has the terms (x − low)·W⁺ and (x − high)·W⁻, so that D = z − low·W⁺ − high·W⁻ − b.
    [[nodiscard]] bool isBox() const { return !low.empty(); }
};

/// What applyForm() and weighForm() read.
[[nodiscard]] ops::Reads readsOf(const LinearForm& form, const ops::LinearMap& map);
/// Rule::apply() at a linear map.
[[nodiscard]] std::vector<Tensor> applyForm(const LinearForm& form, const RuleContext& context);
/// LinearRule::weigh() at a linear map: the transpose, Σ_k (x_k ⊙ w)·W_k / stab(D) of each share.
[[nodiscard]] std::vector<Tensor> weighForm(const LinearForm& form, const WeighContext& context);

/// A rule for linear maps alone. `name` outlives it; `text` and `parameters` as of Rule.
[[nodiscard]] RulePointer linearFormRule(std::string_view name, std::string text, RuleParameters parameters,
                                         LinearForm form);

/// The structure as what its kind says it is.
template <class S>
[[nodiscard]] const S& as(const ops::Structure& structure)
{
    return static_cast<const S&>(structure);
}

} // namespace retro::lrp
