// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/linearrule.h"
#include "core/lrp/rules/ruleparameters.h"
#include "core/ops/structure.h"

#include <optional>
#include <span>
#include <vector>

namespace retro::lrp
{

using ops::WeightPart;
using ops::WeightVariant;

/// Divides without moving the denominator: 0/0 := 0 alone.
inline constexpr ops::algebra::Stabiliser kUnstabilised{ops::algebra::StabiliserKind::Add, 0, true};

/// One contribution sign · x_k · W_k to the denominator of a weight rule.
struct LinearTerm
{
    Tensor input; ///< x_k, shape of the map's operand
    WeightVariant weight;
    double sign = 1;
};

/// What a weight rule does with one linear map (docs/composites.md, "Linear maps").
struct LinearDistribution
{
    const ops::LinearMap& map;
    std::vector<LinearTerm> terms;
    /// How the bias enters the denominator; none: not at all.
    std::optional<WeightVariant> bias;
    LinearOptions options;
    /// Σ_k sign_k · x_k·W_k + b′ when the forward pass has it (the plain map under BiasPolicy::Absorb); invalid: it is
    /// computed.
    Tensor result{};
    /// Σ_k sign_k · x_k·W_k when it is known, but for what `shift` adds; invalid: it is computed.
    Tensor own{};
    /// Added to `own` in the denominator, broadcastable to it; invalid: nothing. It is no bias, and goes without one.
    Tensor shift{};
    /// What distribute() returns is handed on as it is: nothing is added to it or written over it.
    bool isWhole = false;
};

/// D = Σ_k sign_k · x_k·W_k + b′, s = R / stab(D), R_in = Σ_k sign_k · x_k · (s·W_kᵀ). Under BiasPolicy::Zero, b′ is
/// left out; under Spread, of what b′ and the stabiliser keep back, R − s·(D − b′), the bias factor is handed to the N
/// inputs of each unit in equal parts, which conserves exactly when it is 1. `relevance` has the shape of z, the result
/// that of x. Losses are booked times `factor`.
[[nodiscard]] Tensor distribute(LinearDistribution distribution, const Tensor& relevance, Balance& balance,
                                double factor = 1);

/// The transpose of distribute(): Σ_k sign_k · (x_k ⊙ w)·W_k / stab(D), where w has the shape of x and the result that
/// of z; under Spread with that part of the mean of w over the inputs of a unit which bias and stabiliser keep back.
/// `memory` keeps the denominator; null: it is made.
[[nodiscard]] Tensor weighThrough(LinearDistribution distribution, const Tensor& w, WeighMemory* memory = nullptr);

/// The terms x⁺·W_p + x⁻·W_n; only x·W_p when x has no negative element.
[[nodiscard]] std::vector<LinearTerm> signSplit(const Tensor& x, WeightVariant forPositive, WeightVariant forNegative);

/// The structure as what its kind says it is.
template <class S>
[[nodiscard]] const S& as(const ops::Structure& structure)
{
    return static_cast<const S&>(structure);
}

/// Reads of a rule that needs the data operand of a linear map and nothing else.
[[nodiscard]] ops::Reads readsOperandOf(const ops::LinearMap& map);

/// A rule for linear maps alone. Unless it says otherwise, it reads the data operand.
class LinearMapRule : public Rule, public LinearRule
{
public:
    [[nodiscard]] bool accepts(const ops::Structure& structure) const override
    {
        return structure.kind() == ops::StructureKind::LinearMap;
    }
    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        return readsOperandOf(as<ops::LinearMap>(op.structure()));
    }
};

} // namespace retro::lrp
