// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <string>

namespace retro::trace
{

/// "Conv conv2", "input x"; "?" when there is no such node.
[[nodiscard]] std::string nodeText(const Run& run, NodeId node);
/// "P3"; "P3.1".
[[nodiscard]] std::string promiseText(PromiseId promise);
[[nodiscard]] std::string branchText(PromiseId promise, std::uint32_t branch);

} // namespace retro::trace
