// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace retro::ops
{

enum class GateFunction : std::uint8_t {
    Sigmoid,
    Tanh,
    Relu,
    Affine,
    LeakyRelu,
    ThresholdedRelu,
    ScaledTanh,
    HardSigmoid,
    Elu,
    Softsign,
    Softplus
};

/// An activation of a recurrent operator, with the parameters that the standard gives it.
struct GateActivation
{
    GateFunction function = GateFunction::Sigmoid;
    double alpha = 0;
    double beta = 0;

    /// f(x).
    [[nodiscard]] double value(double x) const;
    /// f′(x).
    [[nodiscard]] double slope(double x) const;
};

/// The activation of that name (case does not matter) with the standard's parameters; none when it is unknown.
[[nodiscard]] std::optional<GateActivation> gateActivation(std::string_view name);
/// How many of alpha and beta the function takes from the node's lists.
[[nodiscard]] int parameterCount(GateFunction function);

} // namespace retro::ops
