// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/gradientgraph/emitter.h"

#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace retro::tape
{

/// What a rule is given of the graph that is built.
struct EmitValues
{
    std::vector<ValueId> operands;
    std::vector<ValueId> outputs;
    std::vector<ValueId> upstream;    ///< per output; invalid = zeros
    std::vector<std::uint8_t> wanted; ///< per operand slot: 1 where a part is wanted
    std::vector<tensor::DType> types; ///< per operand slot, of floating ones: as another runtime computes them
    /// Of MaxPool: the places of its winners as its second output gives them, where they were kept; else the rule finds
    /// them from its operand.
    ValueId winners = {};
    /// Axes of operands whose extent is known only when the graph runs; none where all are known.
    std::function<bool(std::size_t slot, std::size_t axis)> isFree = {};
    bool turnsWeights = false; ///< of convolutions where they can be: runtimes are faster at Conv than at ConvTranspose
};

/// The context of a reverse rule that is written as nodes. Slots and outputs are those of the node.
struct EmitSite : EmitValues
{
    Emitter& emit;
    const execute::BoundModel& model;
    const graph::Node& node;

    EmitSite(Emitter& into, const execute::BoundModel& bound, const graph::Node& of, EmitValues values)
        : EmitValues(std::move(values)), emit(into), model(bound), node(of)
    {}
    /// A context that a rule can be applied in. Errors (Engine): everything that is wrong with it, by node: lists of
    /// another length than the node's, a part that is wanted of no floating operand or of none at all, nothing that
    /// arrives.
    [[nodiscard]] static base::Result<EmitSite> make(Emitter& into, const execute::BoundModel& bound, base::NodeId id,
                                                     EmitValues values);

    /// Of an operand.
    [[nodiscard]] const tensor::Shape& shape(std::size_t slot) const { return model.typeOf(node.inputs[slot]).shape; }
    /// Of an output.
    [[nodiscard]] const tensor::Shape& outputShape(std::size_t k = 0) const
    {
        return model.typeOf(node.outputs[k]).shape;
    }
    /// The operator as it is bound.
    [[nodiscard]] const ops::BoundOperator& op() const;
    [[nodiscard]] ValueId up() const { return upstream.front(); }
    /// The extent of an operand along this axis is known only when the graph runs.
    [[nodiscard]] bool hasFree(std::size_t slot, std::size_t axis) const { return isFree && isFree(slot, axis); }
    [[nodiscard]] bool wants(std::size_t slot) const { return slot < wanted.size() && wanted[slot] != 0; }
    [[nodiscard]] bool has(std::size_t slot) const { return slot < node.inputs.size() && node.inputs[slot].isValid(); }
    /// Attributes, with what stands for a missing one.
    [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t fallback) const;
    [[nodiscard]] double number(std::string_view name, double fallback) const;
    [[nodiscard]] std::string text(std::string_view name, const std::string& fallback) const;
    [[nodiscard]] std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> fallback) const;
    /// Data of an operand that is known before the run; nothing for others and for absent ones.
    [[nodiscard]] std::optional<std::vector<std::int64_t>> known(std::size_t slot) const;
};

/// Per operand slot the value that holds its part; valid for every wanted slot.
using EmittedParts = std::vector<ValueId>;

/// What a rule did, in slots and outputs of the node.
struct EmitResult
{
    std::vector<std::pair<std::size_t, ValueId>> wrote; ///< operand slot and its part, ascending
    std::vector<std::size_t> read;                      ///< outputs whose gradient was read
    std::vector<std::size_t> zeros;                     ///< outputs at which nothing arrived: zeros were read
};

/// Takes the parts of a rule. Errors (Engine): a wanted slot without a part, by node and slot.
[[nodiscard]] base::Result<EmitResult> resultOf(const EmitSite& site, const EmittedParts& parts);

inline constexpr std::size_t kAllSlots = std::numeric_limits<std::size_t>::max();

/// A rule, by operator.
struct EmitRule
{
    std::string_view op; ///< of the ONNX standard
    /// Why the rule cannot be applied to this node and what to do; empty when it can.
    std::string (*refusal)(const EmitSite&);
    EmittedParts (*emit)(EmitSite&);
    /// This operand slot and those behind it pass no gradient, whatever their type: scales, sizes, an example of a
    /// type.
    std::size_t firstWithout = kAllSlots;
    /// True where what is written is right whatever the extents of free axes are; null: nowhere.
    bool (*takesFree)(const EmitSite&) = nullptr;
};

inline constexpr std::int64_t kBoolType = 9; ///< `to` of Cast: TensorProto.DataType

/// An axis that may be counted from the end (below 0), counted from the front.
[[nodiscard]] inline std::size_t axisOf(std::int64_t axis, std::size_t rank)
{
    return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

/// A rule that can always be applied, and one that takes every free axis.
[[nodiscard]] std::string never(const EmitSite& site);
[[nodiscard]] bool always(const EmitSite& site);

/// The rules, one list per family.
using EmitRules = std::initializer_list<EmitRule>;
extern const EmitRules kElementWiseRules;
extern const EmitRules kActivationRules;
extern const EmitRules kLinearRules;
extern const EmitRules kWindowRules;
extern const EmitRules kResampleRules;
extern const EmitRules kIndexRules;
extern const EmitRules kSelectRules;
extern const EmitRules kShapeRules;
extern const EmitRules kPadRules;
extern const EmitRules kSignalRules;
extern const EmitRules kEinsumRules;
extern const EmitRules kReductionRules;

/// The rule of an operator; null when there is none.
[[nodiscard]] const EmitRule* findEmitRule(std::string_view op);
/// The rule that writes this node. Errors (Input): there is none, or it cannot be written here; names the node.
[[nodiscard]] base::Result<const EmitRule*> emitRuleFor(const EmitSite& site);

} // namespace retro::tape
