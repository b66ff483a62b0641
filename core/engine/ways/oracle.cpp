// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/oracle.h"

#include "core/engine/explain/inputrelevance.h"

namespace retro::engine
{

ForwardNeed OracleWay::needs(const Pass& pass) const { return {execute::SavePolicy::All, pass.values}; }

base::Result<void> OracleWay::run(Pass& pass)
{
    RETRO_TRY(const lrp::TraversalGraph graph, pass.graph());
    RETRO_TRY(const lrp::RelevanceTable table, lrp::oracle(pass.forward->saved, *pass.prepared->rules, graph,
                                                           pass.starts, pass.stop, &pass.result.ledger));
    takeTable(table, pass.result);
    pass.result.counts.visits = pass.result.counts.normal = static_cast<std::uint32_t>(graph.postOrder().size());
    pass.result.counts.visitsMax = 1;
    return {};
}

} // namespace retro::engine
