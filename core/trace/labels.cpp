// SPDX-License-Identifier: Apache-2.0
#include "core/trace/labels.h"

#include <fmt/format.h>

namespace retro::trace
{

std::string nodeText(const Run& run, NodeId node)
{
    if (!run.graph || node.index() >= run.graph->runNodeCount()) {
        return "?";
    }
    const std::string_view op = run.graph->isInput(node) ? "input" : run.graph->opOf(node);
    return fmt::format("{} {}", op, run.graph->labelOf(node));
}

std::string promiseText(PromiseId promise) { return promise.isValid() ? fmt::format("P{}", promise.value) : "P?"; }

std::string branchText(PromiseId promise, std::uint32_t branch)
{
    return fmt::format("{}.{}", promiseText(promise), branch);
}

} // namespace retro::trace
