// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/recurrent/gateactivation.h"
#include "core/tensor/shape.h"

#include <array>
#include <limits>
#include <vector>

namespace retro::ops
{

enum class RecurrentKind : std::uint8_t { Rnn, Gru, Lstm };

/// A recurrent operator with all extents known.
struct RecurrentForm
{
    RecurrentKind kind = RecurrentKind::Rnn;
    std::int64_t steps = 0;
    std::int64_t batch = 0;
    std::int64_t inputs = 0;
    std::int64_t hidden = 0;
    std::vector<bool> isReverse; ///< per direction
    bool isBatchFirst = false;   ///< layout 1
    bool resetsAfter = false;    ///< linear_before_reset
    bool isCoupled = false;      ///< input_forget: the forget gate is 1 − input gate
    double clip = std::numeric_limits<double>::infinity();
    std::vector<std::array<GateActivation, 3>> activations; ///< f, g, h per direction

    [[nodiscard]] std::int64_t directions() const { return static_cast<std::int64_t>(isReverse.size()); }
    [[nodiscard]] std::int64_t gates() const
    {
        return kind == RecurrentKind::Rnn ? 1 : kind == RecurrentKind::Gru ? 3 : 4;
    }
    /// Offset of step t of row b in X.
    [[nodiscard]] std::int64_t inputAt(std::int64_t t, std::int64_t b) const
    {
        return (isBatchFirst ? b * steps + t : t * batch + b) * inputs;
    }
    /// Offset of step t of row b of direction d in Y.
    [[nodiscard]] std::int64_t outputAt(std::int64_t t, std::int64_t b, std::int64_t d) const
    {
        return (isBatchFirst ? (b * steps + t) * directions() + d : (t * directions() + d) * batch + b) * hidden;
    }
    /// Offset of row b of direction d in a state.
    [[nodiscard]] std::int64_t stateAt(std::int64_t b, std::int64_t d) const
    {
        return (isBatchFirst ? b * directions() + d : d * batch + b) * hidden;
    }
};

/// The operands, or gradients of them, of one recurrent operator; absent ones are null.
template <class T>
struct RecurrentData
{
    T* x = nullptr;
    T* w = nullptr;
    T* r = nullptr;
    T* b = nullptr;
    T* h = nullptr; ///< initial_h
    T* c = nullptr; ///< initial_c
    T* p = nullptr;
};

} // namespace retro::ops
