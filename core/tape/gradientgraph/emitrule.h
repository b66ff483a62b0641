// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/gradientgraph/emitter.h"

#include <optional>
#include <span>
#include <string>

namespace retro::tape
{

/// A node whose reverse rule is written as nodes. Slots and outputs are those of the node.
struct EmitSite
{
    Emitter& emit;
    const execute::BoundModel& model;
    const graph::Node& node;
    std::vector<ValueId> operands; ///< in the graph that is built
    std::vector<ValueId> outputs;  ///< likewise
    std::vector<ValueId> upstream; ///< per output; invalid = zeros
    std::vector<std::uint8_t> wanted;

    /// Of an operand.
    [[nodiscard]] const tensor::Shape& shape(std::size_t slot) const { return model.typeOf(node.inputs[slot]).shape; }
    /// Of an output.
    [[nodiscard]] const tensor::Shape& outputShape(std::size_t k = 0) const
    {
        return model.typeOf(node.outputs[k]).shape;
    }
    [[nodiscard]] ValueId up() const { return upstream.front(); }
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

/// A rule, by operator.
struct EmitRule
{
    std::string_view op; ///< of the ONNX standard
    /// Why the rule cannot be applied to this node and what to do; empty when it can.
    std::string (*refusal)(const EmitSite&);
    EmittedParts (*emit)(EmitSite&);
};

/// A rule that can always be applied.
[[nodiscard]] std::string never(const EmitSite& site);

/// The rules, one list per family.
[[nodiscard]] std::span<const EmitRule> elementWiseRules();
[[nodiscard]] std::span<const EmitRule> activationRules();
[[nodiscard]] std::span<const EmitRule> linearRules();
[[nodiscard]] std::span<const EmitRule> indexRules();
[[nodiscard]] std::span<const EmitRule> shapeRules();
[[nodiscard]] std::span<const EmitRule> reductionRules();

/// The rule of an operator; null when there is none.
[[nodiscard]] const EmitRule* findEmitRule(std::string_view op);

} // namespace retro::tape
