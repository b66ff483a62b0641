// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace retro::base
{

/// True while files are mapped, whose missing pages are filled in by a signal handler (mappedfile.h).
[[nodiscard]] bool needsSignalStacks();

/// Gives the calling thread a stack of its own for signal handlers, once. Needed before code runs that uses the stack
/// pointer for something else, as kernels made at run time do: what a handler would put below it there is in use.
void useSignalStack();

} // namespace retro::base
