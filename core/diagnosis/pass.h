// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"
#include "core/execute/boundmodel.h"
#include "core/lrp/composite/composite.h"
#include "core/trace/run.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace retro::diagnosis
{

using base::NodeId;
using base::ValueId;
using tensor::Tensor;

/// One relevance pass, or as much of it as there is: of an explanation in memory and of a run file alike.
struct Pass
{
    std::shared_ptr<const graph::Graph> graph; ///< that ran: rewritten, loops written out. Never null
    /// Of `graph`, with weights; null where it cannot be bound, as of a run file without its model.
    std::shared_ptr<const execute::BoundModel> model;
    std::vector<tensor::Shape> shapes; ///< of every value, by ValueId; may be empty
    /// A forward value as the pass kept it; invalid where it did not. May be empty: nothing was kept.
    std::function<Tensor(ValueId)> kept;
    bool hasForward = false;       ///< a forward pass was made
    bool hasRelevance = false;     ///< a relevance pass was made; what follows is of it
    std::vector<Tensor> relevance; ///< by ValueId; invalid where none arrived, or it was not kept
    std::vector<event::LedgerEntry> ledger;
    double started = 0; ///< ΣR that began, of all targets, and ΣR that reached the inputs: the ends of the ledger
    double arrived = 0;
    std::vector<trace::NodeRule> rules; ///< by NodeId
    /// The same to be asked for parameters; null of a run file.
    std::shared_ptr<const lrp::RuleAssignment> assigned;
    ValueId target;                        ///< where relevance starts; invalid: not known
    std::vector<std::int64_t> targetIndex; ///< per sample, flat; −1: the whole value
    std::vector<double> targetScore;       ///< per sample
    std::string composite;                 ///< in words
    std::string compositeReason;           ///< why `auto` chose it; may be empty
    std::vector<std::string> unused;       ///< lrp::unusedEntries()
    bool isGradient = false;               ///< what flowed is a gradient: nothing is conserved
};

} // namespace retro::diagnosis
