// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/lutcase.h"
#include "kernels/lut/run.h"

#include <optional>

namespace retro::engine
{

/// How a LUT case runs.
struct LutRunOptions
{
    lut::Path path = lut::Path::Fused;
    lut::Backend backend = lut::Backend::Cpu; ///< of forward and backward; relevance runs on the CPU
    bool isDouble = false;
    int threads = 0; ///< 0 = as many as the machine has
    std::uint64_t scratchLimit = lut::kScratchLimit;
};

/// One array that a case gives, and how far it is from what the case expects.
struct LutQuantity
{
    std::string name; ///< as the case names it: "forward.output"
    std::vector<double> values;
    std::optional<double> deviation; ///< largest |a − b| / max(1, |b|); nothing when the case expects nothing
    double tolerance = 0;            ///< 0 = must be equal

    /// False only when it differs from what is expected.
    [[nodiscard]] bool holds() const { return !deviation || *deviation <= tolerance; }
};

/// What a case gives.
struct LutRun
{
    std::vector<LutQuantity> quantities;
    lut::Schedule forward;
    std::optional<lut::Schedule> backward; ///< nothing without a gradient of the output
    double forwardSeconds = 0;
    double backwardSeconds = 0;

    [[nodiscard]] bool holds() const;
};

/// Runs a case on the CPU: forward, and with a gradient of the output also backward and relevance (of the gradient
/// taken as relevance). Errors (Input): the layer's checks, arrays of a wrong size, scratch beyond the limit.
[[nodiscard]] base::Result<LutRun> runLutCase(const formats::LutCase& given, const LutRunOptions& options);

} // namespace retro::engine
