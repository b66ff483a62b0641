// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Longest time that one case may take, in seconds of wall clock; far above what any needs, also on a loaded machine.
inline constexpr int kLongestCase = 120;

/// What is done with a case. An error of code Input or Usage is a refusal, any other one wrong.
using CaseFunction = base::Result<void> (*)(const Case&);

/// Runs the cases one after another in a child process, which is started anew after a case that crashed or hung. Calls
/// `report` for every case, in order.
void runIsolated(std::span<const Case> cases, CaseFunction run,
                 const std::function<void(const Case&, const Ending&)>& report);

} // namespace retro::conformance
