// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/rewrite.h"

#include "core/base/cancel.h"
#include "core/rewrite/draft.h"
#include "core/rewrite/passes.h"

namespace retro::rewrite
{

base::Result<Rewritten> rewrite(std::shared_ptr<const graph::Graph> graph, const RewriteOptions& options,
                                const std::stop_token& stop)
{
    Rewritten result{graph, graph, {}};
    Draft draft(*graph);
    if (options.foldConstants) {
        removeUnused(draft, result.steps);
        RETRO_CHECK(base::checkStop(stop));
        foldConstants(draft, result.steps);
    }
    if (options.mergeBatchNorm) {
        mergeBatchNorm(draft, result.steps);
    }
    RETRO_CHECK(base::checkStop(stop));
    if (result.steps.empty()) {
        return result;
    }
    RETRO_TRY(graph::Graph rewritten, draft.build());
    result.graph = std::make_shared<const graph::Graph>(std::move(rewritten));
    return result;
}

} // namespace retro::rewrite
