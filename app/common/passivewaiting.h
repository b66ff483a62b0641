// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>

namespace retro::app
{

/// Threads of OpenMP that wait for work spin by default, which takes seconds of CPU time from other programs on a busy
/// machine and makes none of them faster. Asks for passive waiting unless the environment says otherwise. libgomp reads
/// the environment while it is loaded, before main(): a program therefore puts a pointer to this into its
/// .preinit_array, which runs after the C library is ready and before any other library.
__attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined"))) inline void
waitPassively(int /*argc*/, char** /*argv*/, char** /*environment*/)
{
    if (std::getenv("OMP_WAIT_POLICY") == nullptr && std::getenv("GOMP_SPINCOUNT") == nullptr) {
        setenv("OMP_WAIT_POLICY", "passive", 0);
    }
}

} // namespace retro::app
