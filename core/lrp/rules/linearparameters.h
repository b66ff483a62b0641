// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/traversal/parametersink.h"

#include <cstddef>
#include <memory>
#include <string>

namespace retro::lrp
{

/// Adds up what a rule tells of the weights and the bias of one linear map.
class LinearParameters final : public ParameterSink
{
public:
    /// All arguments must outlive this; `values` hold all operands.
    LinearParameters(const execute::BoundModel& model, NodeId node, const RuleSite& site, const NodeValues& values);

    void throughWeights(const Tensor& x, ops::WeightVariant weight, const Tensor& s, double factor) override;
    void throughBias(ops::WeightVariant bias, const Tensor& s, double factor) override;
    void gradient(const Tensor& arrived) override;
    void throughOperands(const Tensor&) override {} ///< not of a linear map

    /// False when the rule said nothing of its weights.
    [[nodiscard]] bool isTold() const { return m_isTold; }
    /// Why nothing can be told, in words; empty when it can.
    [[nodiscard]] const std::string& fault() const { return m_fault; }
    /// What the operand in that slot got, in its shape: zeros when nothing went through it. Invalid for an operand that
    /// is neither weights nor bias.
    [[nodiscard]] Tensor of(std::size_t slot) const;

private:
    [[nodiscard]] const ops::LinearMap& map() const;
    [[nodiscard]] bool isBias(std::size_t slot) const;
    /// xᵀs: the gradient of Σ s·(x·W) by the weights, in their shape; invalid where the operator has none.
    [[nodiscard]] Tensor weightGradient(const Tensor& x, const Tensor& s);
    /// The same map with its weights as a computed operand and without a bias.
    void open();
    void addTo(Tensor& sum, Tensor part) const;
    /// The sum of t in the shape of the bias.
    [[nodiscard]] Tensor reducedToBias(const Tensor& t) const;

    const execute::BoundModel& m_model;
    NodeId m_node;
    const RuleSite& m_site;
    const NodeValues& m_values;
    std::size_t m_weightSlot = 0;
    std::unique_ptr<ops::BoundOperator> m_opened;
    double m_alpha = 1; ///< of Gemm: the map's weights are alpha times the operand
    double m_beta = 1;  ///< of Gemm: its bias is beta times the operand
    Tensor m_weights;
    Tensor m_bias;
    bool m_isTold = false;
    std::string m_fault;
};

} // namespace retro::lrp
