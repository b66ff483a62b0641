// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/analysis/joint.h"
#include "core/base/bytesize.h"
#include "core/engine/plan/planning.h"

namespace retro::app
{

/// GRAPH and how its joint graph is made, as the planning verbs take them.
struct PlanningOptions
{
    ModelOptions model;
    std::vector<std::string> sizes; ///< NAME=N
    std::string target;             ///< what the second half starts at; empty = every output
    bool isRelevance = false;
    bool hasParameters = false;

    void addTo(CLI::App& verb, const Context& context);
    /// Errors: Usage (a size that is no NAME=N, no such target), as engine::planningGraphOf.
    [[nodiscard]] base::Result<analysis::PlanningGraph> load() const;
    /// The two steps of it: the model, and its planning graph.
    [[nodiscard]] base::Result<engine::LoadedModelPointer> open() const;
    [[nodiscard]] base::Result<analysis::PlanningGraph> planningOf(const engine::LoadedModel& loaded) const;
    [[nodiscard]] analysis::JointOptions joint(analysis::CostUnit unit) const;

private:
    /// Errors: Usage (rules without relevance).
    [[nodiscard]] base::Result<engine::HalfWish> halfFrom(const engine::LoadedModel& loaded,
                                                          std::vector<base::ValueId> outputs) const;
};

using base::bytesText;

} // namespace retro::app
