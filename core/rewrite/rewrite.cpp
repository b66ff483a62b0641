// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/rewrite.h"

#include "core/base/cancel.h"
#include "core/base/leftovers.h"
#include "core/graph/attributes.h"
#include "core/graph/graph.h"
#include "core/ops/layerkind.h"
#include "core/ops/schema/schema.h"
#include "core/rewrite/draft.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace retro::rewrite
{

namespace
{

using graph::Node;

bool lacksTerms(const Node& node)
{
    if (!ops::isEinsum(node)) {
        return false;
    }
    const auto equation = attributeOr<std::string>(node, "equation", "");
    return std::ranges::count(equation.substr(0, equation.find("->")), ',') >= std::ssize(node.inputs);
}

/// The first node whose operands or outputs its operator does not have, in words: "product (MatMul): operand 1 is
/// missing (B of MatMul)". The passes read them without asking, so such a graph is left as it is; binding it says what
/// is wrong.
std::optional<std::string> lackingOperands(const graph::Graph& graph)
{
    for (const Node& node : graph.nodes()) {
        std::optional<std::string> fault = ops::operandFault(node);
        if (!fault && lacksTerms(node)) {
            fault = "its equation has more terms than it has operands";
        }
        if (fault) {
            return fmt::format("{} ({}): {}", node.name, node.op, *fault);
        }
    }
    return std::nullopt;
}

struct Pass
{
    RewriteName name;
    void (*apply)(Draft&, std::vector<RewriteStep>&);
};

/// Before all others, so that they find plain nodes.
constexpr std::array kInlining{
    Pass{{"inline-branches", "If with a constant condition → the nodes of the branch that it takes",
          &RewriteOptions::inlineBranches},
         inlineBranches},
};

/// By itself, as it asks what shapes the nodes of inlined branches have.
constexpr std::array kOpening{
    Pass{{"expand-functions", "an operator that does many steps in one → its steps", &RewriteOptions::expandFunctions},
         expandFunctions},
};

/// Chains come before the linear layers, so that an Add that ends a chain is not taken for a bias; BatchNormalization
/// comes last, so that it finds linear layers whole.
constexpr std::array kPasses{
    Pass{{"remove-unused", "take out what no output depends on", &RewriteOptions::removeUnused}, removeUnused},
    Pass{{"fold-constants", "compute what depends on constants alone, once", &RewriteOptions::foldConstants},
         foldConstants},
    Pass{{"dequantise", "layers of quantised values → the layers of floats that they stand for",
          &RewriteOptions::dequantise},
         dequantise},
    Pass{{"remove-identities", "take out Identity and Dropout", &RewriteOptions::removeIdentities}, removeIdentities},
    Pass{{"look-up-one-hot", "one-hot rows, also times a matrix → rows of a matrix", &RewriteOptions::lookUpOneHot},
         lookUpOneHot},
    Pass{{"float-inputs", "inputs of whole numbers that become floats at once → inputs of floats",
          &RewriteOptions::floatInputs},
         floatInputs},
    Pass{
        {"fuse-layernorm", "mean, difference, variance, quotient → LayerNormalization", &RewriteOptions::fuseLayerNorm},
        fuseLayerNorm},
    Pass{{"fuse-rmsnorm", "mean of squares, root, quotient → RMSNormalization", &RewriteOptions::fuseRmsNorm},
         fuseRmsNorm},
    Pass{{"fuse-softmax", "what computes Softmax or LogSoftmax → that operator", &RewriteOptions::fuseSoftmax},
         fuseSoftmax},
    Pass{{"fuse-norms", "what computes Lp-, Instance- or GroupNormalization → that operator",
          &RewriteOptions::fuseNorms},
         fuseNorms},
    Pass{{"fuse-activations", "what computes an activation (Relu, Sigmoid, Gelu, Swish …) → that operator",
          &RewriteOptions::fuseActivations},
         fuseActivations},
    Pass{{"fuse-cells", "products with gates in LSTM and GRU cells that are written out → Gate",
          &RewriteOptions::fuseCells},
         fuseCells},
    Pass{{"fuse-attention", "product, scale, mask, softmax, product → Attention", &RewriteOptions::fuseAttention},
         fuseAttention},
    Pass{{"fuse-linear", "MatMul by a constant + Add of a constant → one linear layer with bias",
          &RewriteOptions::fuseLinear},
         fuseLinear},
    Pass{{"merge-batchnorm", "BatchNormalization, scale and shift by constants → the weights of the layer before",
          &RewriteOptions::mergeBatchNorm},
         mergeBatchNorm},
    Pass{{"merge-batchnorm-right", "BatchNormalization, scale and shift by constants → the weights of the layer after",
          &RewriteOptions::mergeBatchNormRight},
         mergeBatchNormRight},
    Pass{{"merge-pad", "Pad by zeros before a convolution → its padding", &RewriteOptions::mergePad}, mergePad},
};

/// Behind all others, which would not know what these make.
constexpr std::array kClosing{
    Pass{{"merge-common", "nodes that compute the same from the same → one node", &RewriteOptions::mergeCommon},
         mergeCommon},
    Pass{{"fuse-elementwise", "chains of element-wise functions → one node, block by block",
          &RewriteOptions::fuseElementwise},
         fuseElementwise},
    Pass{{"drop-overwritten", "updates that a later one writes over go; element-wise nodes write over what dies there",
          &RewriteOptions::dropOverwritten},
         dropOverwritten},
};
constexpr std::array<std::span<const Pass>, 4> kStages{kInlining, kOpening, kPasses, kClosing};

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

/// The graphs inside one node; true when one has changed. Constants around them stay there where none has.
base::Result<bool> rewriteBodiesOf(const Draft& draft, graph::Node& node, Rewritten& into, const std::stop_token& stop)
{
    graph::Node whole = node;
    RETRO_TRY([[maybe_unused]] const bool areTaken, takeConstantsInside(draft, whole));
    bool isChanged = false;
    for (auto& [name, attribute] : whole.attributes) {
        if (auto* body = std::get_if<graph::Subgraph>(&attribute)) {
            RETRO_TRY(Rewritten inner, rewrite(body->graph, into.options, stop));
            isChanged = isChanged || inner.graph != body->graph;
            body->graph = inner.graph;
            addStepsOf(node, name, std::move(inner.steps), into.steps);
            addFusedOf(std::move(inner), into.fusedInBodies);
        }
    }
    if (isChanged) {
        node = std::move(whole);
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
        RETRO_TRY(const bool isChanged, rewriteBodiesOf(draft, node, into, stop));
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
        for (const std::span<const Pass> stage : kStages) {
            std::transform(stage.begin(), stage.end(), std::back_inserter(all), [](const Pass& p) { return p.name; });
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

bool isOptional(const RewriteName& rewrite) { return !(RewriteOptions().*rewrite.option); }

namespace
{

base::Result<void> switchAll(RewriteOptions& options, std::span<const std::string> names, bool isOn)
{
    const auto all = rewriteNames();
    for (const std::string& name : names) {
        const auto isMeant = [&](const RewriteName& rewrite) { return name == "all" || rewrite.name == name; };
        if (std::none_of(all.begin(), all.end(), isMeant)) {
            std::vector<std::string_view> known;
            std::transform(all.begin(), all.end(), std::back_inserter(known), [](const auto& r) { return r.name; });
            return base::usageError(
                fmt::format("there is no rewrite \"{}\"; the rewrites are {}, all", name, fmt::join(known, ", ")),
                "rewrite");
        }
        for (const RewriteName& rewrite : all) {
            options.*rewrite.option = isMeant(rewrite) ? isOn : options.*rewrite.option;
        }
    }
    return {};
}

std::vector<std::string> namesWhere(const RewriteOptions& options, bool isOn)
{
    std::vector<std::string> names;
    for (const RewriteName& rewrite : rewriteNames()) {
        if (options.*rewrite.option == isOn && isOptional(rewrite) == isOn) {
            names.emplace_back(rewrite.name);
        }
    }
    return names;
}

} // namespace

base::Result<void> switchOff(RewriteOptions& options, std::span<const std::string> names)
{
    return switchAll(options, names, false);
}

base::Result<void> switchOn(RewriteOptions& options, std::span<const std::string> names)
{
    return switchAll(options, names, true);
}

std::vector<std::string> switchedOff(const RewriteOptions& options) { return namesWhere(options, false); }

std::vector<std::string> switchedOn(const RewriteOptions& options) { return namesWhere(options, true); }

const FusedNode* Rewritten::findFused(std::string_view node) const
{
    const auto at = std::find_if(fused.begin(), fused.end(), [&](const FusedNode& f) { return f.node == node; });
    return at == fused.end() ? nullptr : &*at;
}

namespace
{

bool isAsked(std::span<const Pass> stage, const RewriteOptions& options)
{
    return std::any_of(stage.begin(), stage.end(), [&](const Pass& pass) { return options.*pass.name.option; });
}

/// The graphs inside nodes, and operators that a person asked to pass through.
base::Result<void> prepareNodes(Draft& draft, Rewritten& result, const std::stop_token& stop)
{
    RETRO_CHECK(rewriteBodies(draft, result, stop));
    if (result.options.passThrough) {
        passUnsupported(draft, result.steps);
    }
    return {};
}

/// True when nothing but notes was written since.
bool isUnchanged(const Rewritten& result, std::size_t since)
{
    return std::all_of(result.steps.begin() + static_cast<std::ptrdiff_t>(since), result.steps.end(),
                       [](const RewriteStep& step) { return step.isNote; });
}

/// The passes of a stage on a draft of the graph so far.
base::Result<void> applyStage(std::span<const Pass> stage, Draft& draft, Rewritten& result, const std::stop_token& stop)
{
    const std::size_t before = result.steps.size();
    RETRO_CHECK(base::checkStop(stop)); // a draft that was stopped is not whole
    if (stage.data() == kPasses.data()) {
        RETRO_CHECK(prepareNodes(draft, result, stop));
    }
    for (const Pass& pass : stage) {
        if (!stop.stop_requested() && result.options.*pass.name.option) {
            applyPass(pass, draft, result.steps);
        }
    }
    RETRO_CHECK(base::checkStop(stop));
    if (isUnchanged(result, before)) {
        return {};
    }
    RETRO_CHECK(keepMembers(draft, result.fused));
    RETRO_TRY(graph::Graph rewritten, draft.build());
    result.graph = std::make_shared<const graph::Graph>(std::move(rewritten));
    return {};
}

base::Result<void> runStage(std::span<const Pass> stage, Rewritten& result, const std::stop_token& stop)
{
    const std::shared_ptr<const graph::Graph> graph = result.graph;
    const auto draft = std::make_shared<Draft>(*graph, result.options.keepDigits, stop);
    const base::Result<void> applied = applyStage(stage, *draft, result, stop);
    if (stop.stop_requested()) {
        base::Leftovers::add(draft);
        base::Leftovers::add(graph);
    }
    return applied;
}

/// Nodes that were made of several and then taken away by a later stage.
void forgetStale(Rewritten& result)
{
    std::set<std::string_view> names;
    for (const graph::Node& node : result.graph->nodes()) {
        names.insert(node.name);
    }
    std::erase_if(result.fused, [&names](const FusedNode& fused) { return !names.contains(fused.node); });
}

} // namespace

base::Result<Rewritten> rewrite(std::shared_ptr<const graph::Graph> graph, const RewriteOptions& options,
                                const std::stop_token& stop)
{
    Rewritten result{graph, graph, {}, {}, {}, options};
    if (const std::optional<std::string> lacking = lackingOperands(*graph)) {
        result.steps.push_back({"none", "left as it is: " + *lacking, {}, {}, true});
        return result;
    }
    for (const std::span<const Pass> stage : kStages) {
        if (stage.data() == kPasses.data() || isAsked(stage, options)) {
            RETRO_CHECK(runStage(stage, result, stop));
        }
    }
    if (isAsked(kClosing, options)) {
        forgetStale(result);
    }
    return result;
}

} // namespace retro::rewrite
