// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/inputrelevance.h"
#include "core/engine/ways/way.h"

namespace retro::engine
{

namespace
{

/// The specification side: everything is saved, and a plain loop goes through the nodes in reverse order.
class OracleWay final : public Way
{
public:
    [[nodiscard]] WayGives gives() const override { return {false, true, true, true}; }
    [[nodiscard]] ForwardNeed needs(const Pass& pass) const override;
    base::Result<void> run(Pass& pass) override;
};

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

} // namespace

std::unique_ptr<Way> oracleWay() { return std::make_unique<OracleWay>(); }

} // namespace retro::engine
