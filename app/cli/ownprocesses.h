// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <string>
#include <vector>

namespace retro::app
{

/// Runs this program again, once per entry of `extra`, all at the same time, and waits for all of them. The arguments
/// are `arguments` without the options `valued` (which take a value) and `flags`, followed by the entry. Standard error
/// is shared, standard output discarded. What a process answers is for the caller to find out. Errors (Engine): a
/// process could not be started.
[[nodiscard]] base::Result<void> runOwnProcesses(const std::vector<std::string>& arguments,
                                                 const std::vector<std::string>& valued,
                                                 const std::vector<std::string>& flags,
                                                 const std::vector<std::vector<std::string>>& extra);

} // namespace retro::app
