// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/gradientrun.h"

#include <QString>

namespace retro::views
{

/// Whether what flows in a run is a gradient (RunDerived makes it once per run).
struct GradientNote
{
    explicit GradientNote(const trace::Run& run) : isGradient(trace::carriesGradient(run)) {}
    bool isGradient = false;
};

/// What is said in place of shares: "A gradient is not conserved: …".
[[nodiscard]] QString gradientSentence();

} // namespace retro::views
