// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/graph/graphbuilder.h"
#include "core/lrp/rules/rules.h"
#include "core/lrp/traversal/parameterrelevance.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace retro::tests
{

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

/// Row-major double tensor.
[[nodiscard]] Tensor doubles(Shape shape, const std::vector<double>& values);
/// Seeded numbers in [−1, 1], never 0.
[[nodiscard]] Tensor noise(Shape shape, unsigned seed);
/// All elements in row-major order.
[[nodiscard]] std::vector<double> valuesOf(const Tensor& tensor);
/// Largest |a − b|; a large number when the counts differ.
[[nodiscard]] double distance(const std::vector<double>& a, const std::vector<double>& b);

/// An operand of a node under test.
struct Operand
{
    Tensor value;
    bool isConstant = false;
};

/// A model of one node, with its operand values.
class OneNode
{
public:
    OneNode(std::string op, std::vector<Operand> operands, graph::Attributes attributes = {},
            execute::Precision precision = execute::Precision::Double, std::size_t outputCount = 1,
            std::string domain = {});

    [[nodiscard]] const ops::BoundOperator& op() const { return m_model->op(graph::NodeId(std::size_t{0})); }
    [[nodiscard]] const execute::BoundModel& model() const { return *m_model; }
    /// Forward values of the node.
    [[nodiscard]] std::vector<Tensor> forward() const { return op().forward(m_operands); }
    [[nodiscard]] std::vector<Tensor> forward(const std::vector<Tensor>& operands) const
    {
        return op().forward(operands);
    }
    [[nodiscard]] const std::vector<Tensor>& operands() const { return m_operands; }
    /// Applies the rule with only those operands and outputs at hand that it asked for, and checks the ledger: it
    /// closes, and being asked for it changes no bit.
    [[nodiscard]] std::vector<Tensor> apply(const lrp::RulePointer& rule, const std::vector<Tensor>& relevance);
    /// What the constant operands carried (lrp::parameterShares()), with only those values at hand that it asked for.
    [[nodiscard]] std::vector<lrp::ParameterShare> parameters(const lrp::RulePointer& rule,
                                                              const std::vector<Tensor>& relevance) const;
    /// Ledger row of the last application.
    [[nodiscard]] const event::LedgerEntry& ledger() const { return m_ledger; }
    [[nodiscard]] double lost(event::Cause cause) const { return m_ledger.causes[static_cast<std::size_t>(cause)]; }

private:
    std::shared_ptr<const execute::BoundModel> m_model;
    std::vector<Tensor> m_operands;
    std::vector<std::uint8_t> m_tracked;
    event::LedgerEntry m_ledger;
};

} // namespace retro::tests
