// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/event/event.h"
#include "core/ops/boundoperator.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace retro::lrp
{

using tensor::Tensor;

class ParameterSink;
struct NodeForm;

/// What a rule may look at when it is applied to one node. Tensors that the rule did not ask for with reads() may be
/// invalid.
struct RuleContext
{
    const ops::BoundOperator& op;
    /// Per operand slot: forward value (constants included).
    std::span<const Tensor> operands;
    /// Per output: forward value.
    std::span<const Tensor> outputs;
    /// Per output: relevance that arrived, invalid = zero (output never consumed). At least one is valid.
    std::span<const Tensor> relevance;
    /// Per operand slot: true when the operand takes relevance.
    std::span<const std::uint8_t> tracked;
    /// Per operand slot: element type and shape of the operand (for zeros and for undoing broadcasts).
    std::span<const ops::TensorType> operandTypes;
    /// Amounts lost or gained are added to these causes, when the caller wants them (may be null: then skip the sums).
    event::LedgerEntry* ledger = nullptr;
    /// Is told how relevance went through constant operands, when the caller wants that (may be null).
    ParameterSink* parameters = nullptr;
};

/// Parameters of a rule by name, as composite files write them. A list is a number per channel.
using RuleParameter = std::variant<bool, double, std::string, std::vector<double>>;
using RuleParameters = std::map<std::string, RuleParameter, std::less<>>;

/// A relevance rule with its parameters, written for one or more structures. Immutable, shared.
class Rule
{
public:
    virtual ~Rule() = default;

    /// Short name: "epsilon", "z-plus", …
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Name with parameters, for people: "epsilon 1e-06".
    [[nodiscard]] virtual std::string text() const { return std::string(name()); }
    /// All parameters; makeRule(name(), parameters()) gives an equal rule.
    [[nodiscard]] virtual RuleParameters parameters() const { return {}; }
    /// True when the rule is defined for this operator's structure.
    [[nodiscard]] virtual bool accepts(const ops::Structure& structure) const = 0;
    /// What the rule does at a node that it accepts, as data; none where that is not said so.
    [[nodiscard]] virtual std::optional<NodeForm> form(const ops::BoundOperator& op,
                                                       std::span<const std::uint8_t> tracked) const;
    /// What is wrong with this node beyond its structure (shapes that the parameters do not fit, computed operands that
    /// are too many); empty when nothing is. `operands` and `tracked` per operand slot.
    [[nodiscard]] virtual std::string misfit(const ops::BoundOperator& op, std::span<const ops::TensorType> operands,
                                             std::span<const std::uint8_t> tracked) const
    {
        (void)op;
        (void)operands;
        (void)tracked;
        return {};
    }
    /// Which operands and outputs apply() reads, given which operands are tracked.
    [[nodiscard]] virtual ops::Reads reads(const ops::BoundOperator& op,
                                           std::span<const std::uint8_t> tracked) const = 0;
    /// Bytes that apply() holds as workspace of the operator for the part of operand `slot`.
    [[nodiscard]] virtual std::uint64_t workspace(const ops::BoundOperator& op, std::size_t slot) const
    {
        return op.workspace(ops::Work::Reverse, slot);
    }
    /// Relevance per operand slot: valid, of the operand's shape, for every tracked slot; invalid for the others. 0/0
    /// := 0 everywhere. When `ledger` is there, adds every amount lost or gained to its cause.
    [[nodiscard]] virtual std::vector<Tensor> apply(const RuleContext& context) const = 0;
};

using RulePointer = std::shared_ptr<const Rule>;

} // namespace retro::lrp
