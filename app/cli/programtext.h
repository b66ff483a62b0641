// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/run.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace retro::app
{

/// The compiled program of a recorded run as lines of text: both sections, a line per instruction with its buffers, the
/// promise that it belongs to, and the buffers whose last use it is. Errors: as trace::programOf.
[[nodiscard]] base::Result<std::vector<std::string>> programLines(const trace::Run& run);

/// The same for machines: key, nodes, promises, buffers, results and instructions.
[[nodiscard]] base::Result<nlohmann::ordered_json> programJson(const trace::Run& run);

} // namespace retro::app
