// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/fromgraph.h"
#include "core/analysis/joint.h"
#include "core/engine/explain/target.h"
#include "core/engine/model/loadmodel.h"
#include "core/engine/plan/passsubject.h"
#include "core/execute/boundmodel.h"
#include "core/schedule/subject.h"

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <vector>

namespace retro::engine
{

/// Sizes for the symbols that a graph's inputs declare: "N" → 8.
using SymbolSizes = std::map<std::string, std::int64_t>;

/// What the second half of a joint graph is.
struct HalfWish
{
    analysis::JointKind kind = analysis::JointKind::Gradient;
    std::vector<base::ValueId> outputs; ///< what it starts at; empty = the outputs of the graph
    std::vector<std::string> from;      ///< gradients of these inputs alone; empty = of every floating one
    std::string composite = "auto";     ///< of relevance: as resolveComposite()
    std::string start;                  ///< of relevance, as it was written; said in the subject alone
    bool hasParameters = false;         ///< said in the subject alone
};

/// The planning graph of a model. Where its operators are implemented and its shapes can be worked out, sizes,
/// operations and what the second half reads come from binding it in float32, the inputs' symbols at `sizes` (1 where
/// none is given, which a warning says); else they come from what the graph states. Errors (Input) carry the model's
/// path: a symbol that no input has (Usage), a value whose size nobody knows, with what kept the graph from being
/// bound.
[[nodiscard]] base::Result<analysis::PlanningGraph> planningGraphOf(const LoadedModel& model, const SymbolSizes& sizes,
                                                                    const HalfWish& half = {},
                                                                    const std::stop_token& stop = {});
/// A planning graph, and what it is about in names.
struct SubjectPlanning
{
    analysis::PlanningGraph planning;
    schedule::Subject subject;
};
/// As planningGraphOf() with sizes.
[[nodiscard]] base::Result<SubjectPlanning> subjectPlanningOf(const LoadedModel& model, const SymbolSizes& sizes,
                                                              const HalfWish& half = {},
                                                              const std::stop_token& stop = {});
/// How the control flow of a bound model went, in the words of plans.
[[nodiscard]] std::vector<schedule::Decision> decisionsIn(const graph::Graph& graph);
/// What a pass over a bound model is about, but for start, composite and wanted inputs.
[[nodiscard]] schedule::Subject subjectNames(analysis::JointKind kind, const execute::BoundModel& model,
                                             std::span<const base::ValueId> targets);

/// What a part reads beside what the subject says: of this node, for this operand.
using MoreReads = std::function<ops::Reads(base::NodeId, base::ValueId)>;
/// The planning graph of a pass over a bound model.
[[nodiscard]] base::Result<analysis::PlanningGraph> planningGraphOf(const PassSubject& subject,
                                                                    const MoreReads& more = {});
/// The same of the gradient from all outputs of the graph on.
[[nodiscard]] base::Result<analysis::PlanningGraph> planningGraphOf(const execute::BoundModel& model);

/// True when the graph was captured or measured: it states times, sizes or operations, which rewrites would drop.
[[nodiscard]] bool statesFacts(const graph::Graph& graph);
/// The model as plans are made for it, and as a pass by a plan runs it: without rewrites where its graph states facts.
/// Errors: Cancelled.
[[nodiscard]] base::Result<LoadedModelPointer> asPlanned(const LoadedModelPointer& model,
                                                         const std::stop_token& stop = {});

/// What planners work on: the planning graph of a model and its joint graph with gradients.
struct JointPlanning
{
    analysis::PlanningGraph planning;
    analysis::JointGraph joint;
};

/// The joint graph of a model, its forward operators in the order of first come, first served; taken as
/// asPlanned() says. The second half starts at the value of `target`; without one at every output, as it
/// does in a captured training step. Errors: as planningGraphOf(), targetValue() and analysis::jointOf(); Cancelled.
[[nodiscard]] base::Result<JointPlanning> jointPlanningOf(const LoadedModelPointer& model,
                                                          const std::optional<TargetRequest>& target = {},
                                                          const std::stop_token& stop = {});
/// The same of a pass over a bound model: what the pass by a plan carries out.
[[nodiscard]] base::Result<JointPlanning> jointPlanningOf(const PassSubject& subject, const std::stop_token& stop = {});

} // namespace retro::engine
