// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace retro::tape
{

/// Position of a value in Γ ++ ss: leaves first, then the value of each node.
using Id = std::uint32_t;

/// What can be wrong with a tape, its seed or a rule.
enum class FaultKind : std::uint8_t {
    LaterParent,       ///< an operand that is not earlier than its node
    SeedCount,         ///< not one seed per id
    SeedShape,         ///< a seed of another shape than its value
    ContributionShape, ///< a rule's part of another shape than the operand
    ContributionCount, ///< not one part per operand
    UpstreamShape,     ///< what arrives at a node has another shape than its value
    ForwardFailed,     ///< an operator refused its operands
    RuleFailed,        ///< a reverse rule refused
};

/// An error of a tape, as a value: which cell, by id and name, and what to do.
struct Fault
{
    FaultKind kind = FaultKind::RuleFailed;
    Id id = 0; ///< the cell; for SeedCount the number of ids
    std::string message;

    /// True for the kinds that are about a shape.
    [[nodiscard]] bool isShape() const;
    /// As an error that a user can read; `where` names the cell.
    [[nodiscard]] base::Error asError() const;
};

/// "'conv1' (id 7)", or "id 7" without a name.
[[nodiscard]] std::string cellText(Id id, const std::string& name);

/// A value or a Fault. Callers must look at it.
template <class T>
class [[nodiscard]] Outcome
{
public:
    Outcome(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Outcome(Fault fault) : m_state(std::in_place_index<1>, std::move(fault)) {}

    [[nodiscard]] bool ok() const { return m_state.index() == 0; }
    [[nodiscard]] const T& value() const& { return std::get<0>(m_state); }
    [[nodiscard]] T&& value() && { return std::get<0>(std::move(m_state)); }
    [[nodiscard]] const Fault& error() const { return std::get<1>(m_state); }
    const T& operator*() const& { return value(); }
    const T* operator->() const { return &value(); }

private:
    std::variant<T, Fault> m_state;
};

} // namespace retro::tape
