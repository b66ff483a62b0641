// SPDX-License-Identifier: Apache-2.0
#include "core/ops/recurrent/gateactivation.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace retro::ops
{

namespace
{

struct KnownActivation
{
    std::string_view name;
    GateActivation activation;
    int parameters;
};

constexpr std::array kKnown{
    KnownActivation{"sigmoid", {GateFunction::Sigmoid, 0, 0}, 0},
    KnownActivation{"tanh", {GateFunction::Tanh, 0, 0}, 0},
    KnownActivation{"relu", {GateFunction::Relu, 0, 0}, 0},
    KnownActivation{"affine", {GateFunction::Affine, 1, 0}, 2},
    KnownActivation{"leakyrelu", {GateFunction::LeakyRelu, 0.01, 0}, 1},
    KnownActivation{"thresholdedrelu", {GateFunction::ThresholdedRelu, 1, 0}, 1},
    KnownActivation{"scaledtanh", {GateFunction::ScaledTanh, 1, 1}, 2},
    KnownActivation{"hardsigmoid", {GateFunction::HardSigmoid, 0.2, 0.5}, 2},
    KnownActivation{"elu", {GateFunction::Elu, 1, 0}, 1},
    KnownActivation{"softsign", {GateFunction::Softsign, 0, 0}, 0},
    KnownActivation{"softplus", {GateFunction::Softplus, 0, 0}, 0},
};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

double tanhSlope(double x)
{
    const double y = std::tanh(x);
    return 1 - y * y;
}

/// 1 above the bound, else 0.
double isAbove(double x, double bound) { return static_cast<double>(x > bound); }

bool equalIgnoringCase(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
    });
}

} // namespace

double GateActivation::value(double x) const
{
    switch (function) {
    case GateFunction::Sigmoid:
        return logistic(x);
    case GateFunction::Tanh:
        return std::tanh(x);
    case GateFunction::Relu:
        return std::max(x, 0.0);
    case GateFunction::Affine:
        return alpha * x + beta;
    case GateFunction::LeakyRelu:
        return x >= 0 ? x : alpha * x;
    case GateFunction::ThresholdedRelu:
        return x > alpha ? x : 0;
    case GateFunction::ScaledTanh:
        return alpha * std::tanh(beta * x);
    case GateFunction::HardSigmoid:
        return std::clamp(alpha * x + beta, 0.0, 1.0);
    case GateFunction::Elu:
        return x >= 0 ? x : alpha * std::expm1(x);
    case GateFunction::Softsign:
        return x / (1 + std::abs(x));
    case GateFunction::Softplus:
        return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    }
    return x;
}

double GateActivation::slope(double x) const
{
    switch (function) {
    case GateFunction::Sigmoid:
        return logistic(x) * (1 - logistic(x));
    case GateFunction::Tanh:
        return tanhSlope(x);
    case GateFunction::Relu:
        return isAbove(x, 0);
    case GateFunction::Affine:
        return alpha;
    case GateFunction::LeakyRelu:
        return x >= 0 ? 1 : alpha;
    case GateFunction::ThresholdedRelu:
        return isAbove(x, alpha);
    case GateFunction::ScaledTanh:
        return alpha * beta * tanhSlope(beta * x);
    case GateFunction::HardSigmoid:
        return alpha * isAbove(alpha * x + beta, 0) * isAbove(1, alpha * x + beta);
    case GateFunction::Elu:
        return x >= 0 ? 1 : alpha * std::exp(x);
    case GateFunction::Softsign:
        return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
    case GateFunction::Softplus:
        return logistic(x);
    }
    return 1;
}

std::optional<GateActivation> gateActivation(std::string_view name)
{
    for (const KnownActivation& known : kKnown) {
        if (equalIgnoringCase(known.name, name)) {
            return known.activation;
        }
    }
    return std::nullopt;
}

int parameterCount(GateFunction function)
{
    for (const KnownActivation& known : kKnown) {
        if (known.activation.function == function) {
            return known.parameters;
        }
    }
    return 0;
}

} // namespace retro::ops
