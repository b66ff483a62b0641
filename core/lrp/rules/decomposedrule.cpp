// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/decomposedrule.h"

#include "core/base/failure.h"
#include "core/execute/constantvalue.h"
#include "core/execute/forward.h"
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/linearrule.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/traversal/oracle.h"
#include "core/lrp/traversal/regionpass.h"
#include "core/lrp/traversal/traversalgraph.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using execute::BoundModel;
using execute::NodeId;
using execute::ValueId;

namespace
{

/// What a composite says; the parts depend on the node.
class DecomposedRule : public Rule
{
public:
    [[nodiscard]] std::string_view name() const final { return "decomposed"; }
    [[nodiscard]] bool accepts(const ops::Structure& structure) const final
    {
        return structure.kind() == ops::StructureKind::Composed;
    }
    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const final
    {
        return ops::Reads::allOperands();
    }
    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        base::guard(false, "assignRules() binds this rule to its node");
        return std::vector<Tensor>(context.tracked.size());
    }
};

/// A result of the body that relevance can start from.
struct BodyResult
{
    std::size_t output; ///< of the node
    TraversalGraph graph;
};

class BoundDecomposedRule final : public DecomposedRule, public LinearRule
{
public:
    BoundDecomposedRule(std::shared_ptr<const BoundModel> body, std::vector<std::size_t> operands, RuleAssignment rules,
                        std::vector<BodyResult> results)
        : m_body(std::move(body)), m_operands(std::move(operands)), m_rules(std::move(rules)),
          m_results(std::move(results))
    {}

    [[nodiscard]] std::string text() const override
    {
        return fmt::format("decomposed into {} nodes", m_body->graph().nodeCount());
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        Balance balance(context);
        std::vector<Tensor> parts(context.tracked.size());
        // bound to these types; its operands were checked by the node's own forward pass
        const auto forward =
            base::orFail(execute::forward(m_body, inputsOf(context.operands), execute::SavePolicy::All));
        for (const BodyResult& result : m_results) {
            const bool arrived = result.output < context.relevance.size() && context.relevance[result.output].isValid();
            if (arrived) {
                carryBack(result.graph, forward.saved, context.relevance[result.output], parts, balance);
            }
        }
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (context.tracked[slot] == 0) {
                parts[slot] = {};
            } else if (!parts[slot].isValid()) {
                parts[slot] = Tensor::zeros(context.operandTypes[slot].dtype, context.operandTypes[slot].shape);
            }
        }
        return balance.close(std::move(parts));
    }

    [[nodiscard]] bool isLinear() const override
    {
        return std::ranges::all_of(
            m_rules, [](const AssignedRule& each) { return each.rule == nullptr || asLinear(*each.rule) != nullptr; });
    }
    [[nodiscard]] std::string noForward(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        for (const BodyResult& result : m_results) {
            if (const auto can = checkWeighable(*m_body, m_rules, result.graph); !can) {
                return can.error().text();
            }
        }
        return {};
    }
    /// The same way through the body, from all operands to each result.
    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const auto forward =
            base::orFail(execute::forward(m_body, inputsOf(context.operands), execute::SavePolicy::All));
        const auto values = [&](NodeId node, const ops::Reads&) {
            NodeValues all;
            for (const ValueId operand : m_body->graph().node(node).inputs) {
                all.operands.push_back(operand.isValid() ? forward.saved.anyValue(operand) : Tensor());
            }
            for (const ValueId output : m_body->graph().outputsOf(node)) {
                all.outputs.push_back(output.isValid() ? forward.saved.anyValue(output) : Tensor());
            }
            return all;
        };
        std::vector<Tensor> masks;
        for (const std::size_t slot : m_operands) {
            masks.push_back(context.weights[slot]);
        }
        std::vector<Tensor> weights(context.op.outputTypes().size());
        for (const BodyResult& result : m_results) {
            const std::vector<Tensor> inside =
                base::orFail(regionWeights({*m_body, m_rules, result.graph, values, masks, {}, {}, {}, {}}));
            const Root& root = result.graph.roots().front();
            weights[result.output] = inside[m_body->graph().outputsOf(root.node)[root.output].index()];
        }
        return weights;
    }

    /// Every part has the same rule as there.
    [[nodiscard]] bool hasRulesOf(const BoundDecomposedRule& other) const
    {
        const auto isSame = [](const AssignedRule& a, const AssignedRule& b) {
            return a.rule && b.rule ? isSameRule(*a.rule, *b.rule) : a.rule == b.rule;
        };
        return std::ranges::equal(m_rules, other.m_rules, isSame);
    }

private:
    [[nodiscard]] std::vector<Tensor> inputsOf(std::span<const Tensor> operands) const
    {
        std::vector<Tensor> inputs;
        for (const std::size_t slot : m_operands) {
            inputs.push_back(operands[slot].contiguous()); // once, not in every product that reads it
        }
        return inputs;
    }

    void carryBack(const TraversalGraph& graph, const execute::SavedValues& values, const Tensor& relevance,
                   std::vector<Tensor>& parts, Balance& balance) const
    {
        std::vector<event::LedgerEntry> ledger;
        // nobody can stop it
        addShares(base::orFail(oracle(values, m_rules, graph, relevance, {}, balance.isWanted() ? &ledger : nullptr)),
                  parts);
        for (const event::LedgerEntry& row : ledger) {
            bookCauses(row, balance);
        }
    }

    void addShares(const RelevanceTable& table, std::vector<Tensor>& parts) const
    {
        for (std::size_t i = 0; i < m_operands.size(); ++i) {
            const std::vector<Tensor>& arrived = table[m_body->graph().nodeCount() + i];
            if (!arrived.empty() && arrived.front().isValid()) {
                Tensor& part = parts[m_operands[i]];
                part = part.isValid() ? algebra::add(part, arrived.front()) : arrived.front();
            }
        }
    }

    static void bookCauses(const event::LedgerEntry& row, Balance& balance)
    {
        for (std::size_t cause = 0; cause < event::kCauseCount; ++cause) {
            balance.book(static_cast<event::Cause>(cause), row.causes[cause]);
        }
    }

    std::shared_ptr<const BoundModel> m_body;
    std::vector<std::size_t> m_operands; // per input of the body
    RuleAssignment m_rules;
    std::vector<BodyResult> m_results;
};

std::vector<rewrite::BodyOperand> operandsOf(const BoundModel& model, NodeId id)
{
    std::vector<rewrite::BodyOperand> operands;
    for (const ValueId input : model.graph().node(id).inputs) {
        if (!input.isValid()) {
            operands.push_back({{}, {}, false, false});
            continue;
        }
        const bool isTracked = model.isTracked(input); // then it depends on an input
        operands.push_back({model.typeOf(input), isTracked ? tensor::Tensor() : execute::constantValue(model, input),
                            true, !isTracked});
    }
    return operands;
}

// The members' inputs are operands by name.
base::Result<rewrite::FunctionBody> bodyOfMembers(const BoundModel& model, NodeId id, const graph::Graph& members)
{
    const graph::Node& node = model.graph().node(id);
    rewrite::FunctionBody body;
    std::vector<bool> isDetached;
    for (const ValueId input : members.inputs()) {
        const auto value = model.graph().findValue(members.value(input).name);
        const auto at = value ? std::find(node.inputs.begin(), node.inputs.end(), *value) : node.inputs.end();
        if (at == node.inputs.end()) {
            return base::inputError(
                fmt::format("its members read \"{}\", which it does not", members.value(input).name));
        }
        body.operands.push_back(static_cast<std::size_t>(at - node.inputs.begin()));
        isDetached.push_back(!model.isTracked(*at));
    }
    RETRO_TRY(graph::Graph detached, rewrite::withDetached(members, isDetached));
    body.graph = std::make_shared<const graph::Graph>(std::move(detached));
    body.results = {0};
    return body;
}

base::Result<RulePointer> bindBody(const Composite& composite, const BoundModel& model, NodeId id,
                                   rewrite::FunctionBody body, EntryUse* use)
{
    std::vector<ops::TensorType> types;
    for (const std::size_t slot : body.operands) {
        types.push_back(model.typeOf(model.graph().node(id).inputs[slot]));
    }
    RETRO_TRY(const auto bound, BoundModel::bind(body.graph, types, execute::insideOf(model.precision())));
    Composite inner = composite;
    std::erase_if(inner.entries, [](const CompositeEntry& entry) { return entry.matcher.firstWeight; });
    RETRO_TRY(RuleAssignment rules, assignRules(inner, *bound, {}, {}, use));
    std::vector<BodyResult> results;
    for (std::size_t i = 0; i < body.results.size(); ++i) {
        const ValueId output = body.graph->outputs()[i];
        if (bound->isTracked(output)) {
            RETRO_TRY(TraversalGraph graph, TraversalGraph::build(*bound, output));
            results.push_back({body.results[i], std::move(graph)});
        }
    }
    return RulePointer(std::make_shared<const BoundDecomposedRule>(bound, std::move(body.operands), std::move(rules),
                                                                   std::move(results)));
}

} // namespace

base::Result<rewrite::FunctionBody> bodyOf(const BoundModel& model, NodeId id)
{
    return rewrite::functionBody(model.graph().node(id), operandsOf(model, id));
}

bool isSameRule(const Rule& a, const Rule& b)
{
    const auto* boundA = dynamic_cast<const BoundDecomposedRule*>(&a);
    const auto* boundB = dynamic_cast<const BoundDecomposedRule*>(&b);
    if (boundA != nullptr && boundB != nullptr) {
        return boundA->hasRulesOf(*boundB);
    }
    return boundA == nullptr && boundB == nullptr && a.name() == b.name() && a.parameters() == b.parameters();
}

bool isDecomposed(const Rule& rule) { return rule.name() == "decomposed"; }

base::Result<RulePointer> bindDecomposed(const Composite& composite, const BoundModel& model, NodeId id,
                                         const graph::Graph* members, EntryUse* use)
{
    RETRO_TRY(rewrite::FunctionBody body, members != nullptr ? bodyOfMembers(model, id, *members) : bodyOf(model, id));
    return bindBody(composite, model, id, std::move(body), use);
}

RulePointer decomposedRule() { return std::make_shared<const DecomposedRule>(); }

namespace
{

RulePointer readDecomposed(ParameterReader&) { return decomposedRule(); }

std::string decomposedFormula(const FormulaWords&) { return "the rules of its parts"; }

} // namespace

extern const RuleDeclaration kDecomposedRule{"decomposed", readDecomposed, decomposedFormula};

} // namespace retro::lrp
