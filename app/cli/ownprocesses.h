// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <string>
#include <vector>

namespace retro::app
{

/// How a process ended.
struct EndedProcess
{
    int exitCode = 0;
    int signal = 0; ///< that ended it; 0 when it ended by itself
};

/// Runs this program again, once per entry of `extra`, all at the same time, and waits for all of them. The arguments
/// are `arguments` without the options `valued` (which take a value) and `flags`, followed by the entry. Standard error
/// is shared, standard output discarded. They end when this process does, however it ends. What a process answers is
/// for the caller to find out. Errors (Engine): a process could not be started; those that run go on to their end.
[[nodiscard]] base::Result<std::vector<EndedProcess>>
runOwnProcesses(const std::vector<std::string>& arguments, const std::vector<std::string>& valued,
                const std::vector<std::string>& flags, const std::vector<std::vector<std::string>>& extra);

/// To be called early in main: a process that runOwnProcesses started ends with the one that started it. False when
/// that one is gone already.
[[nodiscard]] bool dieWithParent();

} // namespace retro::app
