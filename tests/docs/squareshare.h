// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/ops/structure.h"

#include <fmt/format.h>

namespace retro::lrp
{

/// Sum of operands: each tracked operand gets R·x² / (Σ x² + epsilon).
class SquareShareRule final : public Rule
{
public:
    explicit SquareShareRule(double epsilon) : m_stabiliser{StabiliserKind::Add, epsilon, true} {}

    std::string_view name() const override { return "square-share"; }
    std::string text() const override { return fmt::format("square-share {}", m_stabiliser.epsilon); }
    RuleParameters parameters() const override { return {{"epsilon", m_stabiliser.epsilon}}; }

    // Written for one structure: Add, Sub and Sum are all covered, now and in future.
    bool accepts(const ops::Structure& structure) const override
    {
        return structure.kind() == ops::StructureKind::SumOfOperands;
    }

    // The gradient of a sum reads nothing, so nobody saved the operands: asking for them here makes the traversal
    // raise a promise at such a node.
    ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return ops::Reads::allOperands();
    }

    std::vector<Tensor> apply(const RuleContext& context) const override
    {
        namespace algebra = ops::algebra;
        const Tensor& relevance = context.relevance[0];
        Balance balance(context);

        std::vector<Tensor> squares;
        Tensor total;
        for (const Tensor& operand : context.operands) {
            const Tensor x = algebra::broadcastTo(operand, relevance.shape());
            squares.push_back(algebra::multiply(x, x));
            total = total.isValid() ? algebra::add(total, squares.back()) : squares.back();
        }
        const Tensor s = algebra::stabilisedQuotient(relevance, total, m_stabiliser);
        balance.bookDivision(relevance, s, total);

        std::vector<Tensor> parts(context.operands.size());
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            const Tensor share = algebra::multiply(squares[slot], s);
            if (context.tracked[slot] != 0) {
                parts[slot] = algebra::reduceTo(share, context.operandTypes[slot].shape);
            } else if (balance.isWanted()) {
                balance.book(event::Cause::Constant, algebra::sum(share));
            }
        }
        return balance.close(std::move(parts));
    }

private:
    Stabiliser m_stabiliser;
};

inline RulePointer readSquareShare(ParameterReader& reader)
{
    return std::make_shared<const SquareShareRule>(reader.number("epsilon", 1e-6));
}

/// What it does at a node, in one line for people.
inline std::string squareShareFormula(const FormulaWords&) { return "R_k = R·x_k²/stab(Σx²)"; }

inline const RuleDeclaration kSquareShareRule{"square-share", readSquareShare, squareShareFormula, "sum of operands"};

} // namespace retro::lrp
