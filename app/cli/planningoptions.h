// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/analysis/joint.h"
#include "core/base/bytesize.h"
#include "core/engine/plan/counted.h"
#include "core/engine/plan/planning.h"

namespace retro::app
{

/// GRAPH and how its joint graph is made, as the planning verbs take them.
struct PlanningOptions
{
    ModelOptions model;
    std::vector<std::string> sizes; ///< NAME=N
    std::vector<std::string> count; ///< what counts beside results
    std::string target;             ///< what the second half starts at; empty = every output
    bool isRelevance = false;
    bool hasParameters = false;

    void addTo(CLI::App& verb, const Context& context);
    /// The model as plans are made for it.
    [[nodiscard]] base::Result<engine::LoadedModelPointer> open() const;
    /// Its planning graph; with inputs that of a run on them. Errors: Usage (a size that is no NAME=N, no such target),
    /// as engine::subjectPlanningOf.
    [[nodiscard]] base::Result<engine::SubjectPlanning> planningOf(const engine::LoadedModel& loaded) const;
    [[nodiscard]] analysis::JointOptions joint(analysis::CostUnit unit) const;

    /// What counts beside results. Errors: as engine::countedBands.
    [[nodiscard]] base::Result<std::vector<engine::CountedBand>> bands(const engine::LoadedModel& loaded,
                                                                       const analysis::PlanningGraph& planning) const;
    /// Inputs or a text are given, so that the planning graph is that of a run on them.
    [[nodiscard]] bool hasInputs() const
    {
        return !model.question.inputs.empty() || !model.question.text.empty() || !model.question.ids.empty();
    }

private:
    [[nodiscard]] base::Result<engine::SymbolSizes> symbols() const;
    [[nodiscard]] base::Result<engine::SubjectPlanning> planningOfRun(const engine::LoadedModel& loaded) const;
    /// Errors: Usage (rules without relevance).
    [[nodiscard]] base::Result<engine::HalfWish> halfFrom(const engine::LoadedModel& loaded,
                                                          std::vector<base::ValueId> outputs) const;
};

using base::bothBytesText;
using base::bytesText;

/// The bands and their sum, as answers have them.
void addBands(nlohmann::ordered_json& json, std::span<const engine::CountedBand> bands);
void sayBands(const Context& context, std::span<const engine::CountedBand> bands);
/// A budget (schedule::parseBudget), and what is left of it for results. Shares are of the store-all peak and what is
/// counted beside it.
struct SplitBudget
{
    std::uint64_t whole = 0;
    std::uint64_t forResults = 0; ///< 0 where what is counted leaves nothing
};
/// Errors: Usage. An empty text stands for all that store-all needs.
[[nodiscard]] base::Result<SplitBudget> splitBudget(const std::string& text, const analysis::OpGraph& joint,
                                                    std::span<const engine::CountedBand> bands);

} // namespace retro::app
