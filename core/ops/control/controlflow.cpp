// SPDX-License-Identifier: Apache-2.0
#include "core/ops/families.h"

#include <array>

namespace retro::ops
{

namespace
{

/// Control flow is resolved before a graph is bound (core/execute/control), so whoever comes here has no data.
base::Result<std::unique_ptr<BoundOperator>> bindControlFlow(const BindContext& context)
{
    return context.error("which nodes run depends on the data of a run, so the model's inputs must be given");
}

} // namespace

std::span<const OperatorDeclaration> controlFlowDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "If", 1, 0, "control flow", true, bindControlFlow},
        OperatorDeclaration{"", "Loop", 1, 0, "control flow", true, bindControlFlow},
        OperatorDeclaration{"", "Scan", 8, 0, "control flow", true, bindControlFlow},
    };
    return kDeclarations;
}

} // namespace retro::ops
