// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/sanitized.h"
#include "tests/conformance/cases.h"

#include <functional>
#include <span>
#include <string>

namespace retro::conformance
{

/// How a case ended.
enum class Outcome {
    Passed,
    Wrong,   ///< an output differs, or a bug was reported
    Refused, ///< an error by name (code Input or Usage)
    Crashed,
    Hung,
};

/// How a case ended, and the message.
struct Ending
{
    Outcome outcome = Outcome::Crashed;
    std::string message;
};

/// Longest that one case may take, in seconds of processor time: a busy machine makes no case fail. A sanitizer makes
/// everything slower. A case that got no second of it in so long waits for something that will not come.
#if RETRO_SANITIZED
inline constexpr int kLongestCase = 1200;
#else
inline constexpr int kLongestCase = 120;
#endif

/// What is done with a case. An error of code Input or Usage is a refusal, any other one wrong.
using CaseFunction = base::Result<void> (*)(const Case&);

/// Runs the cases one after another in a child process, which is started anew after a case that crashed or hung. Calls
/// `report` for every case, in order.
void runIsolated(std::span<const Case> cases, CaseFunction run,
                 const std::function<void(const Case&, const Ending&)>& report);

} // namespace retro::conformance
