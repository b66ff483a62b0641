// SPDX-License-Identifier: Apache-2.0
#pragma once

#define RETRO_BEFORE_LIBRARIES __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

namespace retro::app
{

/// Threads of OpenMP that wait for work spin by default, which takes seconds of CPU time from other programs on a busy
/// machine and makes none of them faster. libgomp reads how they should wait from the environment while it is loaded,
/// before main(). A program therefore puts a pointer to waitPassively() into its .preinit_array, which runs before any
/// library, and calls giveBack() first thing in main(). Variables cannot be added that early: the C library takes over
/// the environment only later, as the kernel made it. So the last variable lends its place in the meantime.
class PassiveWaiting
{
public:
    /// Asks for passive waiting unless `environment` says how to wait, or is empty.
    RETRO_BEFORE_LIBRARIES static void waitPassively(int /*argc*/, char** /*argv*/, char** environment)
    {
        char** last = nullptr;
        for (char** at = environment; *at != nullptr; ++at) {
            if (startsWith(*at, "OMP_WAIT_POLICY=") || startsWith(*at, "GOMP_SPINCOUNT=")) {
                return;
            }
            last = at;
        }
        if (last != nullptr) {
            lent() = *last;
            *last = request();
        }
    }

    /// Puts the variable that lent its place back into `environment`.
    static void giveBack(char** environment)
    {
        for (char** at = environment; at != nullptr && *at != nullptr; ++at) {
            *at = *at == request() ? lent() : *at;
        }
    }

private:
    RETRO_BEFORE_LIBRARIES static bool startsWith(const char* text, const char* start)
    {
        while (*start != '\0' && *text == *start) {
            ++text;
            ++start;
        }
        return *start == '\0';
    }
    RETRO_BEFORE_LIBRARIES static char* request()
    {
        static char text[] = "OMP_WAIT_POLICY=passive";
        return text;
    }
    RETRO_BEFORE_LIBRARIES static char*& lent()
    {
        static char* variable = nullptr;
        return variable;
    }
};

} // namespace retro::app
