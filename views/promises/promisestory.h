// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/promises/promiseforest.h"

#include <QString>
#include <QStringList>

#include <optional>

namespace retro::views
{

/// A promise (or a node) in words at the cursor: what is known, what is missing, what depends on it.
struct PromiseStory
{
    QString title;    ///< "P2 · add · block1/add"
    QString fullName; ///< of its node, as the file says
    QString badge;    ///< "waits, 19 visits"; empty for a node
    PromiseRowState state = PromiseRowState::NotYet;
    QStringList known;   ///< what is there
    QString missing;     ///< what it waits for, in one line; empty when it waits for nothing
    QStringList details; ///< more about that, and what follows
    /// One line per operand: ".0 block1/conv2: found at visit 5, 3 nodes on", and who asked for the promise.
    QStringList operands;
    /// Positions just after the events; none when it never happens. A node has the next visit in place of the second.
    std::optional<std::uint64_t> opened;
    std::optional<std::uint64_t> fulfilled;
    bool isNode = false;
};

/// `promise` must be one of the forest.
[[nodiscard]] PromiseStory promiseStory(const RunModel& model, const PromiseForest& forest, base::PromiseId promise);
/// Why a node has not been visited, or does not go on. `node` must be one of the run's graph.
[[nodiscard]] PromiseStory nodeStory(const RunModel& model, base::NodeId node);

} // namespace retro::views
