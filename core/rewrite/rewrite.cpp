// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/rewrite.h"
#include "core/rewrite/operandcheck.h"

#include "core/base/cancel.h"
#include "core/base/leftovers.h"
#include "core/rewrite/draft.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace retro::rewrite
{

namespace
{

struct Pass
{
    RewriteName name;
    void (*apply)(Draft&, std::vector<RewriteStep>&);
};

void removeUnusedAndFold(Draft& draft, std::vector<RewriteStep>& steps)
{
    removeUnused(draft, steps);
    foldConstants(draft, steps);
}

/// Chains come before the linear layers, so that an Add that ends a chain is not taken for a bias; BatchNormalization
/// comes last, so that it finds linear layers whole.
constexpr std::array kPasses{
    Pass{{"fold-constants", "compute what depends on constants alone, once", &RewriteOptions::foldConstants},
         removeUnusedAndFold},
    Pass{{"remove-identities", "take out Identity and Dropout", &RewriteOptions::removeIdentities}, removeIdentities},
    Pass{
        {"fuse-layernorm", "mean, difference, variance, quotient → LayerNormalization", &RewriteOptions::fuseLayerNorm},
        fuseLayerNorm},
    Pass{{"fuse-rmsnorm", "mean of squares, root, quotient → RMSNormalization", &RewriteOptions::fuseRmsNorm},
         fuseRmsNorm},
    Pass{{"fuse-activations", "chains of GELU, SiLU, HardSwish, Mish → one activation",
          &RewriteOptions::fuseActivations},
         fuseActivations},
    Pass{{"fuse-attention", "product, scale, mask, softmax, product → Attention", &RewriteOptions::fuseAttention},
         fuseAttention},
    Pass{{"fuse-linear", "MatMul by a constant + Add of a constant → one linear layer with bias",
          &RewriteOptions::fuseLinear},
         fuseLinear},
    Pass{
        {"merge-batchnorm", "BatchNormalization → the weights of the layer before it", &RewriteOptions::mergeBatchNorm},
        mergeBatchNorm},
    Pass{{"merge-batchnorm-right", "BatchNormalization → the weights of the layer after it",
          &RewriteOptions::mergeBatchNormRight},
         mergeBatchNormRight},
};

/// Applies a pass; its steps carry its name.
void applyPass(const Pass& pass, Draft& draft, std::vector<RewriteStep>& steps)
{
    const auto before = static_cast<std::ptrdiff_t>(steps.size());
    pass.apply(draft, steps);
    std::for_each(steps.begin() + before, steps.end(), [&](RewriteStep& step) { step.name = pass.name.name; });
}

base::Result<void> keepMembers(const Draft& draft, std::vector<FusedNode>& fused)
{
    for (std::size_t i = 0; i < draft.nodeCount(); ++i) {
        if (!draft.isRemoved(NodeId(i)) && draft.isFused(NodeId(i))) {
            RETRO_TRY(graph::Graph members, draft.membersOf(NodeId(i)));
            fused.push_back({draft.node(NodeId(i)).name, std::make_shared<const graph::Graph>(std::move(members))});
        }
    }
    return {};
}

/// Steps of a body as steps of the graph around it.
void addStepsOf(const graph::Node& node, const std::string& body, std::vector<RewriteStep> inner,
                std::vector<RewriteStep>& steps)
{
    for (RewriteStep& step : inner) {
        step.text = fmt::format("in {} of {} {}: {}", body, node.op, node.name, step.text);
        for (std::vector<std::string>* names : {&step.removed, &step.added}) {
            for (std::string& name : *names) {
                name = fmt::format("{}/{}", node.name, name);
            }
        }
        steps.push_back(std::move(step));
    }
}

bool hasBody(const graph::Node& node)
{
    return std::any_of(node.attributes.begin(), node.attributes.end(),
                       [](const auto& entry) { return std::holds_alternative<graph::Subgraph>(entry.second); });
}

/// What was fused in a body and in those inside it.
void addFusedOf(Rewritten inner, std::vector<FusedInBody>& fused)
{
    for (FusedNode& node : inner.fused) {
        fused.push_back({inner.graph, std::move(node)});
    }
    std::move(inner.fusedInBodies.begin(), inner.fusedInBodies.end(), std::back_inserter(fused));
}

/// The graphs inside one node; true when one has changed.
base::Result<bool> rewriteBodiesOf(graph::Node& node, Rewritten& into, const std::stop_token& stop)
{
    bool isChanged = false;
    for (auto& [name, attribute] : node.attributes) {
        if (auto* body = std::get_if<graph::Subgraph>(&attribute)) {
            RETRO_TRY(Rewritten inner, rewrite(body->graph, into.options, stop));
            isChanged = isChanged || inner.graph != body->graph;
            body->graph = inner.graph;
            addStepsOf(node, name, std::move(inner.steps), into.steps);
            addFusedOf(std::move(inner), into.fusedInBodies);
        }
    }
    return isChanged;
}

/// The graphs inside If, Loop and Scan.
base::Result<void> rewriteBodies(Draft& draft, Rewritten& into, const std::stop_token& stop)
{
    for (std::size_t i = 0; i < draft.nodeCount(); ++i) {
        if (!hasBody(draft.node(NodeId(i)))) {
            continue;
        }
        graph::Node node = draft.node(NodeId(i));
        RETRO_TRY(const bool isChanged, rewriteBodiesOf(node, into, stop));
        if (isChanged) {
            draft.replaceNode(NodeId(i), std::move(node));
        }
    }
    return {};
}

} // namespace

std::span<const RewriteName> rewriteNames()
{
    static const std::vector<RewriteName> names = [] {
        std::vector<RewriteName> all;
        for (const Pass& pass : kPasses) {
            all.push_back(pass.name);
        }
        return all;
    }();
    return names;
}

RewriteOptions noRewrites()
{
    RewriteOptions options;
    for (const RewriteName& rewrite : rewriteNames()) {
        options.*rewrite.option = false;
    }
    return options;
}

base::Result<void> switchOff(RewriteOptions& options, std::span<const std::string> names)
{
    for (const std::string& name : names) {
        if (name == "all") {
            options = noRewrites();
            continue;
        }
        const auto all = rewriteNames();
        const auto at = std::find_if(all.begin(), all.end(), [&](const RewriteName& r) { return r.name == name; });
        if (at == all.end()) {
            std::vector<std::string_view> known;
            std::transform(all.begin(), all.end(), std::back_inserter(known), [](const auto& r) { return r.name; });
            return base::usageError(
                fmt::format("there is no rewrite \"{}\"; the rewrites are {}, all", name, fmt::join(known, ", ")),
                "rewrite");
        }
        options.*at->option = false;
    }
    return {};
}

std::vector<std::string> switchedOff(const RewriteOptions& options)
{
    std::vector<std::string> names;
    for (const RewriteName& rewrite : rewriteNames()) {
        if (!(options.*rewrite.option)) {
            names.emplace_back(rewrite.name);
        }
    }
    return names;
}

const FusedNode* Rewritten::findFused(std::string_view node) const
{
    const auto at = std::find_if(fused.begin(), fused.end(), [&](const FusedNode& f) { return f.node == node; });
    return at == fused.end() ? nullptr : &*at;
}

namespace
{

base::Result<Rewritten> rewriteDraft(Draft& draft, std::shared_ptr<const graph::Graph> graph,
                                     const RewriteOptions& options, const std::stop_token& stop)
{
    Rewritten result{graph, graph, {}, {}, {}, options};
    RETRO_CHECK(base::checkStop(stop)); // a draft that was stopped is not whole
    if (const std::optional<std::string> lacking = lackingOperands(*graph)) {
        result.steps.push_back({"none", "left as it is: " + *lacking, {}, {}, true});
        return result;
    }
    RETRO_CHECK(rewriteBodies(draft, result, stop));
    if (options.passThrough) {
        passUnsupported(draft, result.steps);
    }
    for (const Pass& pass : kPasses) {
        RETRO_CHECK(base::checkStop(stop));
        if (options.*pass.name.option) {
            applyPass(pass, draft, result.steps);
        }
    }
    RETRO_CHECK(base::checkStop(stop));
    const auto isNote = [](const RewriteStep& step) { return step.isNote; };
    if (std::all_of(result.steps.begin(), result.steps.end(), isNote)) {
        return result;
    }
    RETRO_CHECK(keepMembers(draft, result.fused));
    RETRO_TRY(graph::Graph rewritten, draft.build());
    result.graph = std::make_shared<const graph::Graph>(std::move(rewritten));
    return result;
}

} // namespace

base::Result<Rewritten> rewrite(std::shared_ptr<const graph::Graph> graph, const RewriteOptions& options,
                                const std::stop_token& stop)
{
    const auto draft = std::make_shared<Draft>(*graph, options.keepDigits, stop);
    auto result = rewriteDraft(*draft, graph, options, stop);
    if (stop.stop_requested()) {
        base::Leftovers::add(draft);
        base::Leftovers::add(std::move(graph));
    }
    return result;
}

} // namespace retro::rewrite
