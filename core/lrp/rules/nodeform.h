// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/titledrule.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retro::lrp
{

/// How relevance goes from the results of a node to its operands.
enum class Way : std::uint8_t {
    Nowhere,  ///< none is handed on
    Same,     ///< to each operand as it is; what was broadcast is added up
    Carried,  ///< to where each element came from: a shape map without its sign, a resampling by its weights
    Gradient, ///< Jᵀ
    Detached, ///< Jᵀ of a self-normalisation whose deviation is held constant
    Mean,     ///< of a reduction: to all that was added, in equal parts
    Windows,  ///< whole to each element of the window; the window of a reduction is what it adds
    Softmax,  ///< to the elements of a window by the softmax of beta·x
    Taylor    ///< of a softmax p of shown logits: g − p·Σg
};

/// What relevance is multiplied by: on the way Same before it is added up, on all others where it comes to.
enum class Weight : std::uint8_t {
    One,
    Operand,   ///< x
    Magnitude, ///< |x|; |1/b| of a divisor b
    Slope,     ///< f(x)/x, 0 where x is 0
    Sigmoid,   ///< the sigmoid of beta·x
    Scaled     ///< x·scale of a normalisation
};

/// What relevance is divided by.
enum class Divisor : std::uint8_t {
    None,
    Result,  ///< f(x), as the forward pass made it
    Made,    ///< f(x), made again
    Weights, ///< the sum of the weights: over the operands that take relevance, or over each window
    Operand  ///< b of a quotient a/b
};

/// A node before the run, as a rule sees it.
struct NodeSite
{
    const ops::BoundOperator& op;
    std::span<const std::uint8_t> tracked; ///< per operand slot

    [[nodiscard]] ops::StructureKind kind() const { return op.structure().kind(); }
    /// Its structure is of one of these kinds.
    [[nodiscard]] bool isAny(std::initializer_list<ops::StructureKind> kinds) const
    {
        return std::ranges::find(kinds, kind()) != kinds.end();
    }
};

/// What a rule does at a node: R_k = factor_k · weight_k · way_k(R / stab(divisor)). It is said here and nowhere else:
/// the pass, its transpose, what it reads, the parameters and written graphs read it.
struct NodeForm
{
    Way way = Way::Same;
    Weight weight = Weight::One;
    Divisor divisor = Divisor::None;
    /// Of the division; where weights are Scaled, what becomes of the shift, too.
    LinearOptions options{};
    /// Per operand slot, 0: it takes nothing; empty: 1 for each.
    std::vector<double> factors{};
    std::optional<event::Cause> rest{}; ///< what relevance is booked as that is neither handed on nor explained
    bool takesPositive = false;         ///< R⁺ stands in place of R
    bool timesResult = false;           ///< R·f(x) stands in place of R
    bool isCausal = false;              ///< of Taylor: only the lower triangle of the last two axes is handed on
    double beta = 0;
    const LinearForm* linear = nullptr; ///< at a linear map: this, and nothing of the above

    /// What the part of an operand is multiplied by.
    [[nodiscard]] double factor(std::size_t slot) const { return factors.empty() ? 1 : factors[slot]; }
    /// Nothing but Jᵀ, and a number.
    [[nodiscard]] bool isGradient() const { return way == Way::Gradient && divisor == Divisor::None && !linear; }
    /// R itself, and no more.
    [[nodiscard]] bool handsOnAsItIs() const
    {
        return way == Way::Same && weight == Weight::One && divisor == Divisor::None && !takesPositive &&
               !timesResult && !linear;
    }
    /// What is handed to an element of an operand is 0 where the element is 0.
    [[nodiscard]] bool vanishesWithOperand() const;
};

/// Factors of a form: 1 for one slot, and equal parts for all that take relevance.
[[nodiscard]] std::vector<double> onlyFactor(const NodeSite& site, std::size_t slot);
[[nodiscard]] std::vector<double> equalFactors(const NodeSite& site);

/// What applyForm() and weighForm() read.
[[nodiscard]] ops::Reads readsOf(const NodeForm& form, const NodeSite& site);
/// Rule::apply().
[[nodiscard]] std::vector<Tensor> applyForm(const NodeForm& form, const RuleContext& context);
/// LinearRule::noForward() and LinearRule::weigh().
[[nodiscard]] std::string forwardFault(const NodeForm& form, const NodeSite& site);
[[nodiscard]] std::vector<Tensor> weighForm(const NodeForm& form, const WeighContext& context);

/// What a rule does at a node that it is for, and what is wrong with a node beyond its structure (see Rule::misfit).
using FormOfNode = std::function<NodeForm(const NodeSite&)>;
using MisfitOfNode = std::function<std::string(const NodeSite&, std::span<const ops::TensorType> operands)>;

/// A rule that is its form.
[[nodiscard]] RulePointer formRule(RuleTitle title, FormOfNode form, MisfitOfNode misfit = {});

} // namespace retro::lrp
