// SPDX-License-Identifier: Apache-2.0
#include "core/engine/openfused.h"

#include "core/engine/binding.h"
#include "core/execute/forward.h"

#include <fmt/format.h>

namespace retro::engine
{

namespace
{

using base::Result;

/// Opens nodes of one relevance pass.
class Opener
{
public:
    Opener(const LoadedModel& model, const ExplainRequest& request, const ExplainResult& result, std::stop_token stop)
        : m_model(model), m_request(request), m_result(result), m_stop(std::move(stop))
    {}

    [[nodiscard]] Result<void> open(const std::string& name, std::vector<OpenedFused>& into)
    {
        const rewrite::FusedNode* fused = m_model.rewritten.findFused(name);
        if (fused == nullptr) {
            return base::usageError(fmt::format("\"{}\" is not a node that a rewrite made of several; `retrograde-cli "
                                                "info` lists the rewrites",
                                                name),
                                    "open");
        }
        if (!isReached(*fused)) {
            return base::usageError(fmt::format("no relevance reached the node \"{}\"", name), "open");
        }
        return openReached(*fused, into);
    }

    [[nodiscard]] Result<void> openAll(std::vector<OpenedFused>& into)
    {
        for (const rewrite::FusedNode& fused : m_model.rewritten.fused) {
            if (isReached(fused)) {
                RETRO_CHECK(openReached(fused, into));
            }
        }
        return {};
    }

private:
    [[nodiscard]] const graph::Graph& graph() const { return m_result.model->graph(); }
    [[nodiscard]] base::NodeId idOf(const rewrite::FusedNode& fused) const { return *graph().findNode(fused.node); }
    [[nodiscard]] const tensor::Tensor& relevanceOf(const rewrite::FusedNode& fused) const
    {
        return m_result.relevance[graph().node(idOf(fused)).outputs[0].index()];
    }
    /// Control flow that was written out may have left the node away.
    [[nodiscard]] bool isReached(const rewrite::FusedNode& fused) const
    {
        return graph().findNode(fused.node).has_value() && relevanceOf(fused).isValid();
    }

    [[nodiscard]] Result<void> runForward()
    {
        if (m_forward) {
            return {};
        }
        RETRO_TRY(m_rules, lrp::assignRules(m_result.composite, *m_result.model, m_model.rewritten.fused));
        RETRO_TRY(m_forward, execute::forward(m_result.model, inPrecision(m_request.inputs, m_request.precision),
                                              execute::SavePolicy::All, m_stop));
        return {};
    }

    [[nodiscard]] Result<void> openReached(const rewrite::FusedNode& fused, std::vector<OpenedFused>& into)
    {
        RETRO_CHECK(runForward());
        const base::NodeId id = idOf(fused);
        lrp::OpenRequest request{fused.members,
                                 {},
                                 relevanceOf(fused),
                                 m_request.precision,
                                 m_rules[id.index()].rule,
                                 m_result.model->op(id).structure().kind()};
        for (const base::ValueId input : fused.members->inputs()) {
            const auto value = graph().findValue(fused.members->value(input).name);
            request.operands.push_back(m_forward->saved.anyValue(*value));
        }
        auto opened = lrp::openFused(request, m_result.composite, m_stop);
        if (!opened) {
            return base::within(std::move(opened).error(), fmt::format("inside node {}", fused.node));
        }
        into.push_back({fused.node, std::move(opened).value()});
        return {};
    }

    const LoadedModel& m_model;
    const ExplainRequest& m_request;
    const ExplainResult& m_result;
    std::stop_token m_stop;
    lrp::RuleAssignment m_rules;
    std::optional<execute::ForwardResult> m_forward;
};

} // namespace

Result<std::vector<OpenedFused>> openFused(const LoadedModel& model, const ExplainRequest& request,
                                           const ExplainResult& result, const std::vector<std::string>& nodes,
                                           const std::stop_token& stop)
{
    Opener opener(model, request, result, stop);
    std::vector<OpenedFused> opened;
    for (const std::string& node : nodes) {
        RETRO_CHECK(node == "all" ? opener.openAll(opened) : opener.open(node, opened));
    }
    return opened;
}

} // namespace retro::engine
