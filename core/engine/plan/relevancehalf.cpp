// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/relevancehalf.h"

#include "core/lrp/rules/ruleapplication.h"

namespace retro::engine
{

using base::Result;
using tensor::Tensor;

namespace
{

/// A rule per node, with the ledger of those that were applied.
class BookedRule
{
public:
    BookedRule(std::shared_ptr<const execute::BoundModel> model, std::shared_ptr<const lrp::RuleAssignment> rules,
               std::vector<event::LedgerEntry>* ledger)
        : m_model(std::move(model)), m_rules(std::move(rules)), m_ledger(ledger),
          m_isBooked(m_model->graph().nodeCount(), false)
    {}

    Result<std::vector<Tensor>> operator()(const tape::ModelSite& site)
    {
        const lrp::RulePointer& rule = (*m_rules)[site.node.index()].rule;
        if (!rule) {
            return std::vector<Tensor>(site.operands.size());
        }
        const lrp::NodeValues values{{site.operands.begin(), site.operands.end()},
                                     {site.outputs.begin(), site.outputs.end()}};
        const bool isFirst = m_ledger != nullptr && !m_isBooked[site.node.index()];
        event::LedgerEntry row{.node = site.node.value};
        std::vector<Tensor> parts =
            lrp::applyRule(*m_model, site.node, rule, site.wanted, site.upstream, values, isFirst ? &row : nullptr);
        if (isFirst) {
            m_isBooked[site.node.index()] = true;
            row.visit = static_cast<std::uint32_t>(m_ledger->size());
            m_ledger->push_back(row);
        }
        return parts;
    }

private:
    std::shared_ptr<const execute::BoundModel> m_model;
    std::shared_ptr<const lrp::RuleAssignment> m_rules;
    std::vector<event::LedgerEntry>* m_ledger;
    std::vector<bool> m_isBooked;
};

/// What lands at an output, in the order in which it is added. The virtual edge of a root has no consumer: it stands
/// for what starts there.
runtime::PartGroups partsAt(const lrp::TraversalGraph& graph, const lrp::NodeOutput& place)
{
    runtime::PartGroups groups;
    for (const lrp::InEdge& edge : graph.inEdges(place.node)) {
        if (edge.output != place.output) {
            continue;
        }
        if (!edge.isJoined) {
            groups.emplace_back();
        }
        groups.back().push_back({edge.consumer, edge.consumerSlot});
    }
    return groups;
}

} // namespace

runtime::ReverseHalf relevanceHalf(const PassSubject& subject, StartOf startOf, std::vector<event::LedgerEntry>* ledger)
{
    runtime::ReverseHalf half;
    const auto rule = std::make_shared<BookedRule>(subject.sharedModel(), subject.rules(), ledger);
    half.rule = [rule](const tape::ModelSite& site) { return (*rule)(site); };
    half.partsOf = [subject](base::ValueId value) {
        const graph::Value& made = subject.model().graph().value(value);
        return partsAt(*subject.graph(),
                       {subject.model().graph().nodeOf(value), made.producer.isValid() ? made.producerOutput : 0});
    };
    half.wantedOf = [subject](base::NodeId node) { return subject.wantedSlots(node); };
    half.givesZeros = [subject](base::NodeId node) { return subject.stopsAt(node); };
    half.startAt = std::move(startOf);
    return half;
}

} // namespace retro::engine
