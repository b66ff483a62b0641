// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <string_view>

namespace retro::base
{

/// To be called first in main: standard streams that are closed are opened on nothing, so that no file gets their
/// numbers (what is written to standard output then fails, as finishOutput says), and a reader that went away does not
/// end the process (SIGPIPE is ignored).
void prepareStreams();

/// A line on standard output, control characters shown (visibleText). That it cannot be written is noted and said by
/// finishOutput; nothing is thrown.
void sayLine(std::string_view line);
/// The same on standard error, where nobody is told of failures. A very long line has its middle left out.
void sayErrorLine(std::string_view line);

/// Brings to an end what was printed. Errors (Output): some of it could not be written; not where its reader went away,
/// as `head` does.
[[nodiscard]] Result<void> finishOutput();

} // namespace retro::base
