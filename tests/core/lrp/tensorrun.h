// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/composite/composite.h"
#include "core/lrp/traversal/oracle.h"
#include "core/lrp/traversal/traversal.h"
#include "tests/core/lrp/specgraph.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace retro::lrptest
{

using tensor::Tensor;

/// A case as a real model in double precision, with the rules of the composite "dynamic".
struct TensorCase
{
    std::shared_ptr<const execute::BoundModel> model;
    std::vector<Tensor> inputs;
    lrp::RuleAssignment rules;
    lrp::TraversalGraph graph;
    Tensor start;
    std::vector<Tensor> alsoStarts; ///< of the other roots: ones
    /// Of every root.
    [[nodiscard]] std::vector<Tensor> starts() const;
};

/// `start` empty: ones.
[[nodiscard]] base::Result<TensorCase> tensorCaseOf(const SpecGraph& spec, const std::vector<double>& start);

/// What a traversal on tensors left behind.
struct TensorRun
{
    std::vector<event::Event> events;
    lrp::TraversalCounts counts;
    std::vector<Tensor> tensors; ///< by handle
    std::vector<event::LedgerEntry> ledger;
    lrp::RelevanceTable relevance;
};

/// What is wrong with the books of a run: an amount without a cause, or leaves and causes that are not what started
/// (1e-9 of the start, where what moved is less than 1e18 times that); empty when all is well.
[[nodiscard]] std::string faultInLedger(const TensorCase& tensorCase, const lrp::RelevanceTable& relevance,
                                        const std::vector<event::LedgerEntry>& ledger);

[[nodiscard]] base::Result<TensorRun> runTensors(const TensorCase& tensorCase, execute::SavePolicy policy,
                                                 const lrp::TraversalOptions& options = {});
[[nodiscard]] base::Result<TensorRun> runTensors(const TensorCase& tensorCase,
                                                 std::shared_ptr<const execute::SavePlan> plan,
                                                 const lrp::TraversalOptions& options = {});
/// The outputs of the operations `ckpt`, which take snapshots.
[[nodiscard]] std::vector<lrp::NodeOutput> checkpointsOf(const TensorCase& tensorCase,
                                                         const std::vector<SpecNode>& nodes);
[[nodiscard]] base::Result<lrp::RelevanceTable> runOracle(const TensorCase& tensorCase);

/// Name of the first (node, output) at which two tables differ in any bit; empty when there is none.
[[nodiscard]] std::string firstDifference(const TensorCase& tensorCase, const lrp::RelevanceTable& a,
                                          const lrp::RelevanceTable& b);

/// What is wrong between the runs under both policies and the oracle: a difference in any bit of any relevance, events
/// that contradict each other, a node visited too often. Empty when all is well.
[[nodiscard]] std::string faultBetween(const TensorCase& tensorCase, const TensorRun& promise, const TensorRun& all,
                                       const lrp::RelevanceTable& oracle);

/// Runs promise engine, policy All, and oracle from a start relevance of ones; returns the error or the fault between
/// them, empty when all is well.
[[nodiscard]] std::string faultOnTensors(const SpecGraph& spec);

/// The same, and what `more` has to say of a case and its runs (promise engine, policy All) where all is well so far.
using FaultOfRuns = std::function<std::string(const TensorCase&, const TensorRun& promise, const TensorRun& all)>;
[[nodiscard]] std::string faultOnTensors(const SpecGraph& spec, const FaultOfRuns& more);

} // namespace retro::lrptest
