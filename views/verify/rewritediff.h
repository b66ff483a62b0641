// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/verify/factsheet.h"

#include <memory>

namespace retro::views
{

/// One change that a rewrite made: what stood there before, and what stands there now.
struct RewriteChange
{
    QString rewrite;    ///< "fuse linear"
    QStringList before; ///< nodes of the file, "MatMul fc1"
    QStringList after;  ///< nodes of the graph that runs
    QString text;       ///< in one line; of a note, why nothing was changed
    base::NodeId node;  ///< the first of `after`, of the run's graph; may be invalid
    bool isNote = false;
};

/// The graph as the file has it beside the graph that runs. Plain value.
struct RewriteDiff
{
    std::size_t nodesBefore = 0;
    std::size_t nodesAfter = 0;
    std::vector<RewriteChange> changes; ///< in the order in which they were made
};

using RewriteDiffPointer = std::shared_ptr<const RewriteDiff>;

/// What each rewrite changed, a line per change. `diff` may be null: then `refusal` says why.
[[nodiscard]] FactSheet rewritesSheet(const RewriteDiffPointer& diff, const QString& refusal);

} // namespace retro::views
