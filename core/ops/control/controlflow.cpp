// SPDX-License-Identifier: Apache-2.0
#include "core/ops/families.h"

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

const OperatorFamily kControlFlowOperators{
    {"", "If", 1, 0, "control flow", true, bindControlFlow},
    {"", "Loop", 1, 0, "control flow", true, bindControlFlow},
    {"", "Scan", 8, 0, "control flow", true, bindControlFlow},
};

} // namespace retro::ops
