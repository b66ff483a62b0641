// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/gradientchecks.h"
#include "core/engine/verify/probing.h"

#include <string>
#include <utility>
#include <vector>

namespace retro::engine
{

/// One node of a tape in double moved along drawn directions of its tracked operands: its reverse rule against a
/// central difference. Borrows the tape.
class NodeProbe
{
public:
    NodeProbe(const tape::ModelTape& made, tape::Id id, probing::Directions& directions);

    /// False where no operand carries a gradient.
    [[nodiscard]] bool moves() const;
    /// Error, kink and singularity into `result`. Errors: what the operator or its rule refuses.
    [[nodiscard]] base::Result<void> measure(NodeGradient& result);
    /// The fewest elements that arrive and move while the rule stays wrong, as a text; empty where it is not wrong.
    /// Errors as measure().
    [[nodiscard]] base::Result<std::string> smallestCase();

private:
    using Range = std::pair<std::int64_t, std::int64_t>;

    /// What the node's values do when its operands move by ±step.
    struct Difference
    {
        double step = 0;
        tape::Bundle slope;
        double steepness = 0;    ///< of the slope, without signs, by what arrives
        double bend = 0;         ///< by how much forward and backward differences disagree
        bool isSingular = false; ///< it is not finite
    };
    /// The rule against a difference.
    struct Comparison
    {
        std::pair<double, double> answers; ///< of the rule and of the difference
        double apart = 0;                  ///< of the two
        double error = 0;                  ///< the same over the size of what was added
        double rounding = 0;               ///< what the rounding of values makes of the difference at most
        bool isKink = false;
    };

    [[nodiscard]] static bool isInexact(const Comparison& comparison);
    [[nodiscard]] base::Result<Comparison> closest(const Difference& shortest,
                                                   const std::vector<tape::Contribution<tape::Bundle>>& parts) const;
    [[nodiscard]] base::Result<Difference> differenceOver(double step) const;
    [[nodiscard]] base::Result<bool> jumpsWithin(const Difference& shortest) const;
    [[nodiscard]] Comparison compared(const Difference& difference,
                                      const std::vector<tape::Contribution<tape::Bundle>>& parts) const;
    void joinRepeated();
    [[nodiscard]] bool isRepeated(std::size_t i) const;
    [[nodiscard]] base::Result<tape::Bundle> at(double step) const;
    [[nodiscard]] std::pair<double, double> along(const std::vector<tape::Contribution<tape::Bundle>>& parts) const;
    [[nodiscard]] base::Result<bool> isWrong();
    [[nodiscard]] base::Result<bool> isStillWrong(tensor::Tensor& place, tensor::Tensor other);
    [[nodiscard]] base::Result<std::string> narrowed(tensor::Tensor& place);
    [[nodiscard]] base::Result<Range> halved(tensor::Tensor& place);

    const tape::ModelTape& m_made;
    tape::Id m_id;
    const tape::Cell<tape::Bundle>& m_cell;
    std::pair<double, double> m_answers; ///< of the rule and of the difference, as measured last
    tape::Bundle m_upstream;
    std::vector<tensor::Tensor> m_directions;
    double m_step = 1e-6;
};

} // namespace retro::engine
