// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/randombehaviour.h"

#include "tests/core/lrp/symbolicrun.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace retro::lrptest
{

namespace
{

using lrp::NodeBehaviour;
using lrp::Role;

bool canBeCrossed(const SpecGraph& spec, const SpecNode& node)
{
    const auto tracked = std::count_if(node.operands.begin(), node.operands.end(),
                                       [&](const SpecOperand& operand) { return spec.isTracked(operand.node); });
    return node.outputs == 1 && tracked == 1;
}

std::string faultWith(const SpecGraph& spec, const std::vector<NodeBehaviour>& behaviour, const char* what)
{
    const std::string fault = runSymbolic(spec, behaviour).fault;
    return fault.empty() ? std::string() : fmt::format("{}: {}", what, fault);
}

} // namespace

std::string faultOnFormulas(const SpecGraph& spec, std::uint64_t seed)
{
    std::string fault = faultWith(spec, spec.autogradBehaviour(), "what gradients read is saved");
    if (fault.empty()) {
        fault = faultWith(spec, spec.savedBehaviour(), "everything is saved");
    }
    if (fault.empty()) {
        fault = faultWith(spec, randomBehaviour(spec, seed), "random behaviour");
    }
    return fault;
}

std::vector<NodeBehaviour> randomBehaviour(const SpecGraph& spec, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    std::vector<NodeBehaviour> behaviour;
    for (const SpecNode& node : spec.nodes()) {
        NodeBehaviour drawn;
        if (!node.operands.empty()) {
            drawn.isStrict = random() % 3 == 0;
            drawn.role = random() % 2 == 0 ? Role::Raise : Role::Arg;
            if (!drawn.isStrict && canBeCrossed(spec, node) && random() % 2 == 0) {
                drawn.role = Role::PassThrough;
            }
        }
        behaviour.push_back(drawn);
    }
    return behaviour;
}

} // namespace retro::lrptest
