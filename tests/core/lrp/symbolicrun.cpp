// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/symbolicrun.h"

#include "tests/core/lrp/symbolicarithmetic.h"

#include <fmt/format.h>

namespace retro::lrptest
{

namespace
{

std::string differenceFromOracle(const SpecGraph& spec, const lrp::TraversalGraph& graph,
                                 const lrp::Traversal& traversal, SymbolicArithmetic& arithmetic)
{
    const std::vector<std::vector<Formulas::Id>> oracle = arithmetic.oracle();
    for (const NodeId node : graph.postOrder()) {
        for (std::uint32_t k = 0; k < graph.outputCount(node); ++k) {
            if (arithmetic.formula(traversal.relevance(node, k)) != oracle[node.index()][k]) {
                return fmt::format("relevance of {} output {} is another formula than the oracle's", spec.node(node).id,
                                   k);
            }
        }
    }
    return {};
}

// Relevance known once per consumed output, one live handle at least for each.
std::size_t knownOutputs(const lrp::TraversalGraph& graph, const lrp::Traversal& traversal)
{
    std::size_t known = 0;
    for (const NodeId node : graph.postOrder()) {
        for (std::uint32_t k = 0; k < graph.outputCount(node); ++k) {
            known += traversal.relevance(node, k).isValid() ? 1 : 0;
        }
    }
    return known;
}

} // namespace

SymbolicRun runSymbolic(const SpecGraph& spec, const std::vector<lrp::NodeBehaviour>& behaviour)
{
    const lrp::TraversalGraph graph = spec.traversalGraph();
    Formulas formulas;
    SymbolicArithmetic arithmetic(spec, graph, behaviour, formulas);
    EventLog log;
    SymbolicRun run;
    {
        lrp::Traversal traversal(graph, arithmetic, log, arithmetic.starts());
        while (!traversal.finished() && run.fault.empty()) {
            const base::Result<void> stepped = traversal.step();
            run.fault = stepped.ok() ? std::string() : stepped.error().text();
        }
        run.counts = traversal.counts();
        if (run.fault.empty()) {
            run.fault = inconsistency(log.events);
        }
        if (run.fault.empty() && arithmetic.liveHandles() > knownOutputs(graph, traversal)) {
            run.fault = "handles other than final relevance are still held";
        }
        if (run.fault.empty()) {
            run.fault = differenceFromOracle(spec, graph, traversal, arithmetic);
        }
    }
    if (run.fault.empty() && arithmetic.liveHandles() > 0) {
        run.fault = fmt::format("{} handles leak", arithmetic.liveHandles());
    }
    if (run.fault.empty() && run.counts.visitsMax > 3) {
        run.fault = fmt::format("a node was visited {} times", run.counts.visitsMax);
    }
    if (!arithmetic.complaint().empty()) {
        run.fault = arithmetic.complaint();
    }
    run.events = std::move(log.events);
    return run;
}

} // namespace retro::lrptest
