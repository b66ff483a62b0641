// SPDX-License-Identifier: Apache-2.0
#include "core/ops/recurrent/recurrentnode.h"
#include "core/graph/attributes.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

/// Takes the next number of a list, if there is one.
void takeNext(const std::vector<double>& list, std::size_t& at, double& value)
{
    if (at < list.size()) {
        value = list[at++];
    }
}

/// Names of the activations of all directions; the usual ones where the node names none.
base::Result<std::vector<std::string>> activationNames(const graph::Node& node, RecurrentKind kind,
                                                       std::size_t perDirection, std::size_t count)
{
    auto names = graph::attributeOr(node, "activations", std::vector<std::string>{});
    const bool isPlain = kind == RecurrentKind::Rnn;
    const bool isUsualPair = isPlain && names.size() == 2; // the standard's default, whatever the direction
    if (names.size() == count || isUsualPair) {
        return names;
    }
    if (!names.empty()) {
        return base::inputError(fmt::format("activations has {} names, but {} are needed", names.size(), count));
    }
    for (std::size_t i = 0; i < count; ++i) {
        names.emplace_back(!isPlain && i % perDirection == 0 ? "Sigmoid" : "Tanh");
    }
    return names;
}

} // namespace

base::Result<std::vector<bool>> recurrentDirections(const graph::Node& node)
{
    const std::string direction = graph::attributeOr(node, "direction", std::string("forward"));
    if (direction == "bidirectional") {
        return std::vector{false, true};
    }
    if (direction != "forward" && direction != "reverse") {
        return base::inputError(fmt::format("direction '{}' is unknown", direction));
    }
    return std::vector{direction == "reverse"};
}

base::Result<std::vector<std::array<GateActivation, 3>>>
recurrentActivations(const graph::Node& node, RecurrentKind kind, std::size_t directions)
{
    const auto perDirection = static_cast<std::size_t>(kind) + 1; // 1 for RNN, 2 for GRU, 3 for LSTM
    const std::size_t count = perDirection * directions;
    RETRO_TRY(const std::vector<std::string> names, activationNames(node, kind, perDirection, count));
    const auto alphas = graph::attributeOr(node, "activation_alpha", std::vector<double>{});
    const auto betas = graph::attributeOr(node, "activation_beta", std::vector<double>{});
    std::size_t alphaAt = 0;
    std::size_t betaAt = 0;
    std::vector<std::array<GateActivation, 3>> activations(directions);
    for (std::size_t i = 0; i < count; ++i) {
        auto activation = gateActivation(names[i]);
        if (!activation) {
            return base::inputError(fmt::format("activation '{}' is unknown", names[i]));
        }
        const int parameters = parameterCount(activation->function);
        if (parameters > 0) {
            takeNext(alphas, alphaAt, activation->alpha);
        }
        if (parameters > 1) {
            takeNext(betas, betaAt, activation->beta);
        }
        activations[i / perDirection][i % perDirection] = *activation;
    }
    return activations;
}

} // namespace retro::ops
