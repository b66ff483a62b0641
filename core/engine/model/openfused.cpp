// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/openfused.h"

#include "core/engine/model/binding.h"
#include "core/execute/forward.h"
#include "core/lrp/rules/decomposedrule.h"

#include <fmt/format.h>

namespace retro::engine
{

namespace
{

using base::Result;

bool isComposed(const execute::BoundModel& model, base::NodeId id)
{
    return !model.graph().isInput(id) && model.op(id).structure().kind() == ops::StructureKind::Composed;
}

/// Opens nodes of one relevance pass.
class FusedOpener
{
public:
    FusedOpener(const LoadedModel& model, const ExplainRequest& request, const ExplainResult& result,
                std::stop_token stop)
        : m_model(model), m_request(request), m_result(result), m_stop(std::move(stop))
    {}

    [[nodiscard]] Result<void> open(const std::string& name, std::vector<OpenedFused>& into)
    {
        const rewrite::FusedNode* fused = m_model.rewritten.findFused(name);
        const auto id = graph().findNode(name);
        RETRO_CHECK(findBodies());
        const FusedInRun* inBody = id ? bodyAt(*id) : nullptr;
        if (fused == nullptr && inBody == nullptr && !(id && isComposed(*id))) {
            return base::usageError(fmt::format("\"{}\" is not a node that a rewrite made of several, nor an operator "
                                                "that has parts; `retrograde-cli info` lists the rewrites",
                                                name),
                                    "open");
        }
        if (!id || !isReached(*id)) {
            return base::usageError(fmt::format("no relevance reached the node \"{}\"", name), "open");
        }
        if (inBody != nullptr) {
            return openNode(*id, {inBody->members, inBody->operands, {0}}, into);
        }
        return fused != nullptr ? openFused(*fused, into) : openComposed(*id, into);
    }

    /// Fused nodes in the order of the rewrites, those inside other nodes, then operators that have parts.
    [[nodiscard]] Result<void> openAll(std::vector<OpenedFused>& into)
    {
        RETRO_CHECK(findBodies());
        RETRO_CHECK(openAllFused(into));
        for (const FusedInRun& fused : *m_bodies) {
            if (isReached(fused.node)) {
                RETRO_CHECK(openNode(fused.node, {fused.members, fused.operands, {0}}, into));
            }
        }
        return openAllComposed(into);
    }

private:
    /// What a node consists of.
    struct Parts
    {
        std::shared_ptr<const graph::Graph> members;
        std::vector<base::ValueId> operands; ///< per input of `members`
        std::vector<std::size_t> results;    ///< per output of `members`: which output of the node
    };

    [[nodiscard]] const graph::Graph& graph() const { return m_result.model->graph(); }
    /// What arrived at output k of a node; invalid where nothing did.
    [[nodiscard]] tensor::Tensor relevanceOf(base::NodeId id, std::size_t k) const
    {
        const std::vector<base::ValueId>& outputs = graph().node(id).outputs;
        return k < outputs.size() && outputs[k].isValid() ? m_result.relevance[outputs[k].index()] : tensor::Tensor();
    }
    [[nodiscard]] bool isReached(base::NodeId id) const
    {
        const std::size_t count = graph().node(id).outputs.size();
        for (std::size_t k = 0; k < count; ++k) {
            if (relevanceOf(id, k).isValid()) {
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool isComposed(base::NodeId id) const { return engine::isComposed(*m_result.model, id); }

    /// What was fused inside other nodes.
    [[nodiscard]] Result<void> findBodies()
    {
        if (!m_bodies) {
            RETRO_TRY(m_bodies, fusedInRun(m_model, m_request.inputs, m_request.precision, m_stop));
        }
        return {};
    }
    [[nodiscard]] const FusedInRun* bodyAt(base::NodeId id) const
    {
        const auto at =
            std::find_if(m_bodies->begin(), m_bodies->end(), [&](const FusedInRun& fused) { return fused.node == id; });
        return at == m_bodies->end() ? nullptr : &*at;
    }

    [[nodiscard]] Result<void> runForward()
    {
        if (m_forward) {
            return {};
        }
        RETRO_TRY(m_rules, lrp::assignRules(m_result.composite, *m_result.model, m_model.rewritten.fused, m_stop,
                                            nullptr, &m_model.rewritten));
        RETRO_TRY(m_forward,
                  execute::forward(m_result.model,
                                   inPrecision(m_result.model->graph(), m_request.inputs, m_request.precision),
                                   execute::SavePolicy::All, m_stop));
        return {};
    }

    [[nodiscard]] Result<void> openAllFused(std::vector<OpenedFused>& into)
    {
        for (const rewrite::FusedNode& fused : m_model.rewritten.fused) {
            const auto id = graph().findNode(fused.node);
            if (id && isReached(*id)) {
                RETRO_CHECK(openFused(fused, into));
            }
        }
        return {};
    }

    /// Those that have no parts stay shut.
    [[nodiscard]] Result<void> openAllComposed(std::vector<OpenedFused>& into)
    {
        for (std::size_t i = 0; i < graph().nodeCount(); ++i) {
            if (canBeOpened(base::NodeId(i))) {
                RETRO_CHECK(openComposed(base::NodeId(i), into));
            }
        }
        return {};
    }

    [[nodiscard]] bool canBeOpened(base::NodeId id) const
    {
        const bool isFused = m_model.rewritten.findFused(graph().node(id).name) != nullptr || bodyAt(id) != nullptr;
        return !isFused && isComposed(id) && isReached(id) && lrp::bodyOf(*m_result.model, id).ok();
    }

    /// The members' inputs are values of the graph by name.
    [[nodiscard]] Result<void> openFused(const rewrite::FusedNode& fused, std::vector<OpenedFused>& into)
    {
        std::vector<base::ValueId> operands;
        for (const base::ValueId input : fused.members->inputs()) {
            operands.push_back(*graph().findValue(fused.members->value(input).name));
        }
        return openNode(*graph().findNode(fused.node), {fused.members, operands, {0}}, into);
    }

    [[nodiscard]] Result<void> openComposed(base::NodeId id, std::vector<OpenedFused>& into)
    {
        RETRO_TRY(auto body,
                  base::within(lrp::bodyOf(*m_result.model, id), fmt::format("inside node {}", graph().node(id).name)));
        std::vector<base::ValueId> operands;
        for (const std::size_t slot : body.operands) {
            operands.push_back(graph().node(id).inputs[slot]);
        }
        return openNode(id, {body.graph, operands, body.results}, into);
    }

    [[nodiscard]] Result<void> openNode(base::NodeId id, const Parts& parts, std::vector<OpenedFused>& into)
    {
        RETRO_CHECK(runForward());
        lrp::OpenRequest request{parts.members,
                                 {},
                                 {},
                                 m_request.precision,
                                 m_rules[id.index()].rule,
                                 m_result.model->op(id).structure().kind()};
        for (const base::ValueId operand : parts.operands) {
            request.operands.push_back(m_forward->saved.anyValue(operand));
        }
        for (const std::size_t k : parts.results) {
            request.relevance.push_back(relevanceOf(id, k));
        }
        const std::string& name = graph().node(id).name;
        RETRO_TRY(auto opened, base::within(lrp::openFused(request, m_result.composite, m_stop),
                                            fmt::format("inside node {}", name)));
        into.push_back({name, std::move(opened)});
        return {};
    }

    const LoadedModel& m_model;
    const ExplainRequest& m_request;
    const ExplainResult& m_result;
    std::stop_token m_stop;
    lrp::RuleAssignment m_rules;
    std::optional<execute::ForwardResult> m_forward;
    std::optional<std::vector<FusedInRun>> m_bodies;
};

} // namespace

std::vector<ComposedNode> composedNodes(const LoadedModel& model, const execute::BoundModel& bound)
{
    std::vector<ComposedNode> nodes;
    for (std::size_t i = 0; i < bound.graph().nodeCount(); ++i) {
        const base::NodeId id(i);
        const std::string& name = bound.graph().node(id).name;
        if (name.empty() || !isComposed(bound, id) || model.rewritten.findFused(name) != nullptr) {
            continue;
        }
        if (const auto body = lrp::bodyOf(bound, id)) {
            nodes.push_back({id, body->graph});
        }
    }
    return nodes;
}

Result<std::vector<ComposedNode>> composedNodes(const LoadedModel& model, const ExplainRequest& request,
                                                const ExplainResult& result, const std::stop_token& stop)
{
    RETRO_TRY(std::vector<FusedInRun> bodies, fusedInRun(model, request.inputs, request.precision, stop));
    std::vector<ComposedNode> nodes;
    for (FusedInRun& fused : bodies) {
        nodes.push_back({fused.node, std::move(fused.members)});
    }
    const auto isInBody = [&, count = nodes.size()](const ComposedNode& composed) {
        const auto end = nodes.begin() + static_cast<std::ptrdiff_t>(count);
        return std::any_of(nodes.begin(), end, [&](const ComposedNode& other) { return other.node == composed.node; });
    };
    for (ComposedNode& composed : composedNodes(model, *result.model)) {
        if (!isInBody(composed)) {
            nodes.push_back(std::move(composed));
        }
    }
    return nodes;
}

Result<std::vector<OpenedFused>> openFused(const LoadedModel& model, const ExplainRequest& request,
                                           const ExplainResult& result, const std::vector<std::string>& nodes,
                                           const std::stop_token& stop)
{
    FusedOpener opener(model, request, result, stop);
    std::vector<OpenedFused> opened;
    for (const std::string& node : nodes) {
        RETRO_CHECK(node == "all" ? opener.openAll(opened) : opener.open(node, opened));
    }
    return opened;
}

} // namespace retro::engine
