// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/verify/gradientchecks.h"
#include "core/engine/verify/property.h"
#include "core/engine/verify/reversecourse.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

namespace retro::engine
{

/// What is checked on whose graph.
struct VerifyRequest
{
    std::vector<tensor::Tensor> inputs; ///< per graph input, in order
    TargetRequest target;
    std::string composite = "auto";                           ///< of the relevance passes that are compared
    execute::Precision precision = execute::Precision::Float; ///< of the tape and the relevance passes
    bool hasShadow = true;  ///< float values are compared with those of a run in double
    std::uint64_t seed = 1; ///< of what is drawn by chance
};

/// What came out.
struct VerifyResult
{
    PropertyResults properties;      ///< P1 to P14, the whole gradient, engines, conservation
    std::vector<NodeGradient> nodes; ///< P8, node by node, in double
    std::vector<UlpDistance> ulps;   ///< float against double, value by value
    ReverseCourse course;            ///< the loop beside the recursion; empty where that was not run
    std::size_t cells = 0;
    std::shared_ptr<const execute::BoundModel> model; ///< as it was bound
    ResolvedTarget target;                            ///< what was checked, score and notes included
    double seconds = 0;

    /// True when a property is violated: a bug here, or in a rule.
    [[nodiscard]] bool isViolated() const;
};

/// Runs the properties of the tape (docs/tape.md), the reverse rule of every node against central differences, the
/// distance of float from double, and the engines against each other, on a user's model and input. Errors: what a pass
/// over the model refuses; Cancelled.
[[nodiscard]] base::Result<VerifyResult> verify(const LoadedModel& model, const VerifyRequest& request,
                                                const std::stop_token& stop = {}, const StageProgress& progress = {});

} // namespace retro::engine
