// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace retro::ops
{

/// An operator that takes quantised values apart, applies a function of the standard, and quantises the result: what
/// com.microsoft calls QLinear…. An operand is followed by its scale and zero point, and so is the scale of the result
/// by its zero point.
struct QuantisedForm
{
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    std::string_view op;
    std::string_view function; ///< of the standard
    std::size_t first = 0;     ///< slot of the first quantised operand
    std::size_t count = 1;     ///< of quantised operands; 0: all that follow
    std::size_t result = 3;    ///< slot of the scale of the result
    std::size_t plain = kNone; ///< slot of an operand that is not quantised and comes first
    std::int64_t opset = 13;   ///< of the function

    /// Slots of the quantised operands of a node with so many operands.
    [[nodiscard]] std::vector<std::size_t> quantisedSlots(std::size_t operandCount) const;
};

/// All of them.
[[nodiscard]] std::span<const QuantisedForm> quantisedForms();
/// The one of com.microsoft of that name; nullptr for others.
[[nodiscard]] const QuantisedForm* quantisedForm(std::string_view domain, std::string_view op);

/// The operator set by which the function of a node is read: QLinearSoftmax names one.
[[nodiscard]] std::int64_t quantisedOpset(const QuantisedForm& form, const graph::Node& node);
/// The attributes of a node that are those of its function.
[[nodiscard]] graph::Attributes functionAttributes(const graph::Node& node);

} // namespace retro::ops
