// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/relevancegraph.h"

#include "core/base/file.h"
#include "core/engine/explainer/followingconstants.h"
#include "core/engine/explainer/relevancewriter.h"
#include "core/engine/gradient/standardnodes.h"
#include "core/engine/model/changedgraph.h"
#include "core/engine/model/prepare.h"
#include "core/formats/onnxexport.h"
#include "core/graph/contentdigest.h"
#include "core/graph/graph.h"
#include "core/graph/graphbuilder.h"
#include "core/graph/placeholder.h"
#include "core/graph/renumbered.h"
#include "core/lrp/composite/ruleoverride.h"
#include "core/lrp/rules/decomposedrule.h"
#include "core/lrp/rules/rules.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace retro::engine
{

using base::Result;
using graph::Dimension;

namespace
{

using Dimensions = std::optional<std::vector<Dimension>>;

/// Input and axis that have the extent.
std::optional<std::pair<std::size_t, std::size_t>> placeOfExtent(const graph::Graph& graph)
{
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const Dimensions& shape = graph.value(graph.inputs()[i]).shape;
        for (std::size_t axis = 0; shape && axis < shape->size(); ++axis) {
            if (!(*shape)[axis].extent) {
                return std::pair{i, axis};
            }
        }
    }
    return std::nullopt;
}

/// The symbol of the one extent that the inputs of a graph leave free; where first axes alone are free, they are all of
/// the samples, and have the symbol of one of them. Empty where several are free, or none.
std::string soleFreeExtent(const graph::Graph& graph)
{
    std::set<std::string> symbols;
    bool isOfSamples = true;
    for (const ValueId id : graph.inputs()) {
        const graph::Value& input = graph.value(id);
        for (std::size_t axis = 0; input.shape && axis < input.shape->size(); ++axis) {
            const Dimension& one = (*input.shape)[axis];
            if (!one.extent) {
                symbols.insert(graph::isPlaceholder(one.symbol) ? fmt::format("{}[{}]", input.name, axis) : one.symbol);
                isOfSamples = isOfSamples && axis == 0;
            }
        }
    }
    return symbols.size() == 1 || (isOfSamples && !symbols.empty()) ? *symbols.begin() : std::string();
}

class Joint
{
public:
    Joint(const std::array<std::shared_ptr<const graph::Graph>, 3>& written, const ThreeExtents& extents,
          const graph::Graph& like, tensor::DType floatType)
        : m_written(written), m_extents(extents), m_like(like), m_symbol(soleFreeExtent(like)),
          m_builder(written[0]->name()), m_steps(m_builder, written[0]->opsets().at(""), floatType)
    {}

    Result<std::shared_ptr<const graph::Graph>> join(const std::stop_token& stop)
    {
        if (!areSameNodes(*m_written[0], *m_written[1]) || !areSameNodes(*m_written[0], *m_written[2])) {
            return std::shared_ptr<const graph::Graph>();
        }
        const graph::Graph& first = *m_written[0];
        m_builder.setOpsets(first);
        m_copy.resize(first.valueCount());
        addInputs();
        for (std::size_t i = 0; i < first.valueCount(); ++i) { // before a name is made up
            if (first.value(ValueId(i)).kind == graph::ValueKind::Result) {
                m_copy[i] = m_builder.addResult(first.value(ValueId(i)).name);
                m_builder.declare(m_copy[i], first.value(ValueId(i)).dtype, shapeOf(ValueId(i)));
            }
        }
        if (!addConstants()) {
            return std::shared_ptr<const graph::Graph>();
        }
        for (const graph::Node& node : first.nodes()) {
            m_builder.addNode(renumbered(node, m_copy));
        }
        for (const ValueId output : first.outputs()) {
            m_builder.addOutput(m_copy[output.index()]);
        }
        RETRO_TRY(graph::Graph built, std::move(m_builder).build(stop));
        return std::make_shared<const graph::Graph>(std::move(built));
    }

private:
    /// Extents that differ are free; those that are the extent itself have its symbol.
    [[nodiscard]] Dimensions shapeOf(ValueId id) const
    {
        std::array<const Dimensions*, 3> seen{};
        for (std::size_t k = 0; k < seen.size(); ++k) {
            seen[k] = &m_written[k]->value(id).shape;
            if (!*seen[k] || (*seen[k])->size() != (*seen[0])->size()) {
                return std::nullopt;
            }
        }
        std::vector<Dimension> dimensions = **seen[0];
        for (std::size_t axis = 0; axis < dimensions.size(); ++axis) {
            bool isSame = true;
            bool isExtent = true;
            for (std::size_t k = 0; k < seen.size(); ++k) {
                const auto& extent = (**seen[k])[axis].extent;
                isSame = isSame && extent == dimensions[axis].extent;
                isExtent = isExtent && extent == m_extents[k];
            }
            if (!isSame || !dimensions[axis].extent) {
                dimensions[axis] = {std::nullopt, isExtent ? m_symbol : std::string()};
            }
        }
        return dimensions;
    }

    /// As the model declares them; what else the graph reads by what it is at the three extents.
    void addInputs()
    {
        const graph::Graph& first = *m_written[0];
        for (std::size_t i = 0; i < first.inputs().size(); ++i) {
            const ValueId id = first.inputs()[i];
            const graph::Value& value = first.value(id);
            const Dimensions shape = i < m_like.inputs().size() ? m_like.value(m_like.inputs()[i]).shape : shapeOf(id);
            m_copy[id.index()] = m_builder.addInput(value.name, value.dtype, shape);
        }
    }

    /// Those that are the same have their names before one is made up for what is computed.
    bool addConstants()
    {
        const graph::Graph& first = *m_written[0];
        std::vector<std::pair<std::size_t, ThreeTensors>> differing;
        for (std::size_t i = 0; i < first.valueCount(); ++i) {
            const graph::Value& value = first.value(ValueId(i));
            if (value.kind != graph::ValueKind::Constant) {
                continue;
            }
            const ThreeTensors seen{&value.constant, &m_written[1]->value(ValueId(i)).constant,
                                    &m_written[2]->value(ValueId(i)).constant};
            if (seen[0]->bitEqual(*seen[1]) && seen[0]->bitEqual(*seen[2])) {
                m_copy[i] = m_builder.addConstant(value.name, value.constant);
            } else {
                differing.emplace_back(i, seen);
            }
        }
        return std::ranges::all_of(differing, [this](const auto& one) {
            m_copy[one.first] = constantFollowing(
                m_steps, [this] { return extent(); }, m_extents, one.second);
            return m_copy[one.first].isValid();
        });
    }

    /// The extent as the graph runs, [1].
    ValueId extent()
    {
        if (!m_extent.isValid()) {
            const auto place = placeOfExtent(m_like);
            const ValueId input = m_copy[m_written[0]->inputs()[place->first].index()];
            m_extent = m_steps.node("Gather",
                                    {m_steps.shapeOf(input), m_steps.ints({static_cast<std::int64_t>(place->second)})});
        }
        return m_extent;
    }

    const std::array<std::shared_ptr<const graph::Graph>, 3>& m_written;
    const ThreeExtents& m_extents;
    const graph::Graph& m_like;
    std::string m_symbol;
    graph::GraphBuilder m_builder;
    RelevanceSteps m_steps;
    std::vector<ValueId> m_copy;
    ValueId m_extent;
};

/// One graph of three that were written for three values of one extent, which `like` (the model, inputs in the same
/// order) leaves free. What differs between them is computed from the extent when the graph runs. Null where something
/// does not follow from it. Errors: Cancelled, as GraphBuilder::build().
Result<std::shared_ptr<const graph::Graph>>
joinedGraph(const std::array<std::shared_ptr<const graph::Graph>, 3>& written, const ThreeExtents& extents,
            const graph::Graph& like, tensor::DType floatType, const std::stop_token& stop)
{
    return Joint(written, extents, like, floatType).join(stop);
}

/// The graph with each constant in the type of its value: what was computed may hold more digits than other runtimes
/// take. Errors: Cancelled.
Result<std::shared_ptr<const graph::Graph>> withTypedConstants(const graph::Graph& graph, const std::stop_token& stop)
{
    GraphChanges changes;
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const graph::Value& value = graph.value(graph::ValueId(i));
        if (value.kind == graph::ValueKind::Constant) {
            const bool isFloat = tensor::isFloating(value.constant.dtype());
            changes.constants[graph::ValueId(i)] = isFloat ? value.constant.to(value.dtype) : value.constant;
        }
    }
    return changedGraph(graph, changes, stop);
}

bool hasFreeInput(const graph::Graph& graph)
{
    return std::ranges::any_of(graph.inputs(), [&](graph::ValueId id) {
        const auto& shape = graph.value(id).shape;
        return shape && std::ranges::any_of(*shape, [](const graph::Dimension& one) { return !one.extent; });
    });
}

/// The model with attention in its steps: rules are given to each of them.
Result<LoadedModelPointer> inSteps(const LoadedModelPointer& model, const std::stop_token& stop)
{
    rewrite::RewriteOptions options = model->rewritten.options;
    options.fuseAttention = false;
    options.fuseElementwise = false;
    options.dropOverwritten = false;
    options.expandFunctions = true;
    return withRewrites(model, options, stop);
}

/// A branch that one run takes says nothing of the next one.
Result<void> checkNoBranches(const graph::Graph& graph)
{
    constexpr std::array<std::string_view, 3> kBranches{"If", "Loop", "Scan"};
    for (const graph::Node& node : graph.nodes()) {
        if (node.domain.empty() && std::ranges::find(kBranches, node.op) != kBranches.end()) {
            return base::inputError("a graph for one run of If, Loop or Scan is no model; leave the branch out of the "
                                    "model, or use --rewrite inline-branches",
                                    fmt::format("node '{}' ({})", node.name, node.op));
        }
    }
    return {};
}

/// The request for the model in steps. A gradient of a whole layer is that of each of its steps. Refuses what explain()
/// refuses of the rules, and other rules of a whole layer that `plain` has in steps: a rule by its name would miss
/// them. A model that cannot be bound as it is, whatever the rules, has its error where its steps are.
Result<ExplainRequest> forSteps(const LoadedModel& model, const LoadedModel& plain, const ExplainRequest& request,
                                const std::stop_token& stop)
{
    ExplainRequest bound = request;
    RETRO_TRY(bound.inputs, zerosFor(*model.graph()));
    const auto prepared = prepare(model, bound, nullptr, stop);
    if (!prepared.ok()) {
        bound.composite = ExplainRequest().composite;
        return prepare(model, bound, nullptr, stop).ok() ? Result<ExplainRequest>(prepared.error())
                                                         : Result<ExplainRequest>(request);
    }
    lrp::Specification rules = lrp::splitSpecification(request.composite);
    const std::size_t given = rules.overrides.size();
    ExplainResult words;
    RETRO_CHECK(takeRules(**prepared, words));
    const graph::Graph& whole = (*prepared)->model->graph();
    for (std::size_t i = 0; i < whole.nodeCount(); ++i) {
        const graph::Node& node = whole.nodes()[i];
        const auto& assigned = (*(*prepared)->rules)[i];
        const auto same = plain.graph()->findNode(node.name);
        const auto kind = (*prepared)->model->op(base::NodeId(i)).structure().kind();
        const bool isInSteps =
            kind == ops::StructureKind::Composed && (!same || plain.graph()->node(*same).op != node.op);
        if (!isInSteps || !assigned.rule || lrp::isDecomposed(*assigned.rule)) {
            continue;
        }
        if (!lrp::isSameRule(*assigned.rule, *lrp::gradientRule())) {
            return base::inputError(fmt::format("the rule \"{}\" is of the whole layer, and the graph has it in steps; "
                                                "give it the rule \"decomposed\"",
                                                assigned.rule->name()),
                                    fmt::format("node '{}' ({})", node.name, node.op));
        }
        lrp::Matcher steps;
        steps.nameGlob = node.name + "/*";
        rules.overrides.insert(rules.overrides.begin(),
                               lrp::overrideText(steps, assigned.rule->name(), assigned.rule->parameters()));
    }
    ExplainRequest asked = request;
    if (rules.overrides.size() > given) {
        asked.composite = lrp::joinSpecification(rules);
    }
    return asked;
}

/// All constants in their types, equal nodes once, nothing unused.
Result<void> finish(RelevanceGraph& made, const std::stop_token& stop)
{
    RETRO_TRY(const auto inSteps, withStandardNodes(made.graph));
    RETRO_TRY(const auto standard, withTypedConstants(*inSteps, stop));
    rewrite::RewriteOptions passes = rewrite::noRewrites();
    passes.keepDigits = false;
    passes.mergeCommon = true;
    passes.removeUnused = true;
    RETRO_TRY(const rewrite::Rewritten small, rewrite::rewrite(standard, passes, stop));
    made.graph = small.graph;
    return {};
}

/// "?x3x224": a shape with its free axes (beyond the first, if `keepsFirst`) at one extent.
std::string shapeAt(const std::vector<graph::Dimension>& shape, std::int64_t extent, bool keepsFirst)
{
    std::string text;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const auto& own = shape[axis].extent;
        text += axis == 0 ? "" : "x";
        text += own ? std::to_string(*own) : keepsFirst && axis == 0 ? "?" : std::to_string(extent);
    }
    return text;
}

/// The model with every free axis (beyond the first, if `keepsFirst`) at one extent.
Result<LoadedModelPointer> withFreeAxesAt(const LoadedModelPointer& model, std::int64_t extent, bool keepsFirst,
                                          const std::stop_token& stop)
{
    std::vector<std::string> shapes;
    for (const graph::ValueId id : model->graph()->inputs()) {
        const graph::Value& input = model->graph()->value(id);
        if (input.shape && !input.shape->empty()) {
            shapes.push_back(input.name + "=" + shapeAt(*input.shape, extent, keepsFirst));
        }
    }
    return withInputShapes(model, shapes, stop);
}

/// Written for three numbers of samples and joined: what an operator of many steps (an LSTM) has for a fixed number is
/// a graph for any. Null where that is not so, and where the free extent is not that of the samples: a height or a
/// length can matter in ways that three of them do not show.
Result<RelevanceGraph> joinedFromThree(const LoadedModelPointer& model, const ExplainRequest& request,
                                       const RelevanceGraphForm& form, const std::stop_token& stop)
{
    // No other extent of a model is likely to be one of them. No divisor leaves the same rest of all three, so what
    // depends on a rest differs.
    constexpr ThreeExtents kExtents{11, 52, 139};
    std::array<std::shared_ptr<const graph::Graph>, 3> written;
    RelevanceGraph made;
    tensor::DType type = tensor::DType::Float32;
    for (std::size_t k = 0; k < kExtents.size(); ++k) {
        RETRO_TRY(const LoadedModelPointer fixed, withFreeAxesAt(model, kExtents[k], false, stop));
        RETRO_TRY(const LoadedModelPointer plain, inSteps(fixed, stop));
        RETRO_TRY(const ExplainRequest asked, forSteps(*fixed, *plain, request, stop));
        RETRO_TRY(RelevanceGraph one, unfinishedRelevanceGraph(*plain, asked, form, {}, kUsualSizes.base, stop));
        if (one.samples != kExtents[k]) {
            made.graph = nullptr;
            return made;
        }
        written[k] = one.graph;
        type = one.floatType;
        if (k == 0) {
            made = std::move(one);
        }
    }
    RETRO_TRY(made.graph, joinedGraph(written, kExtents, *model->graph(), type, stop));
    made.metadata["retrograde.model_hash"] = graph::contentDigest(*model->rewritten.before);
    return made;
}

/// Extents that constants have, ascending, each once.
std::vector<std::int64_t> extentsOfConstants(const graph::Graph& graph)
{
    constexpr std::int64_t kMost = 4096;
    std::vector<std::int64_t> extents;
    for (const graph::Value& value : graph.values()) {
        if (value.kind == graph::ValueKind::Constant && value.constant.isValid()) {
            std::ranges::copy_if(value.constant.shape(), std::back_inserter(extents),
                                 [](std::int64_t extent) { return extent > 1 && extent <= kMost; });
        }
    }
    std::ranges::sort(extents);
    extents.erase(std::unique(extents.begin(), extents.end()), extents.end());
    return extents;
}

/// The model at the one extent at which it can be bound; null where there is none, or several. Files call an axis free
/// that a constant of the model fixes.
Result<LoadedModelPointer> atItsSoleExtent(const LoadedModelPointer& model, const std::stop_token& stop)
{
    constexpr std::size_t kMostTried = 32;
    const std::vector<std::int64_t> extents = extentsOfConstants(*model->graph());
    LoadedModelPointer sole;
    for (std::size_t i = 0; i < std::min(extents.size(), kMostTried); ++i) {
        RETRO_TRY(LoadedModelPointer fixed, withFreeAxesAt(model, extents[i], true, stop));
        if (!inferSymbolicShapes(fixed->graph()).ok()) {
            continue;
        }
        if (sole) {
            return LoadedModelPointer();
        }
        sole = std::move(fixed);
    }
    return sole;
}

bool hasFreeBehindFirst(const graph::Graph& graph)
{
    return std::ranges::any_of(graph.inputs(), [&](graph::ValueId id) {
        const auto& shape = graph.value(id).shape;
        return shape && shape->size() > 1 &&
               std::any_of(shape->begin() + 1, shape->end(), [](const graph::Dimension& one) { return !one.extent; });
    });
}

/// "axis 1 of input 'tokens'" of those that one model leaves free and the other does not.
std::string fixedAxes(const graph::Graph& before, const graph::Graph& after)
{
    std::string text;
    for (const graph::ValueId id : before.inputs()) {
        const graph::Value& value = before.value(id);
        const auto fixed = after.findValue(value.name);
        for (std::size_t axis = 1; fixed && value.shape && axis < value.shape->size(); ++axis) {
            const auto& extent = (*after.value(*fixed).shape)[axis].extent;
            if (!(*value.shape)[axis].extent && extent) {
                text +=
                    fmt::format("{}axis {} of input '{}' is {}", text.empty() ? "" : ", ", axis, value.name, *extent);
            }
        }
    }
    return text;
}

/// The shapes of a model with free axes.
struct FreeShapes
{
    std::vector<SymbolicShape> shapes; ///< none where no axis is free
    TriedSizes sizes = kUsualSizes;
    LoadedModelPointer fixed; ///< the model at its sole extent, where it runs at no other; `shapes` is then not set
};

Result<FreeShapes> freeShapes(const LoadedModelPointer& plain, const std::stop_token& stop)
{
    FreeShapes made;
    if (!hasFreeInput(*plain->graph())) {
        return made;
    }
    Result<std::vector<SymbolicShape>> inferred = inferSymbolicShapes(plain->graph());
    const bool hasFree = hasFreeBehindFirst(*plain->graph());
    if (!inferred.ok() && hasFree) {
        made.sizes = kShortSizes;
        Result<std::vector<SymbolicShape>> atFew = inferSymbolicShapes(plain->graph(), made.sizes);
        inferred = atFew.ok() ? std::move(atFew) : std::move(inferred);
    }
    if (!inferred.ok() && hasFree) {
        RETRO_TRY(made.fixed, atItsSoleExtent(plain, stop));
        if (made.fixed) {
            return made;
        }
    }
    if (!inferred.ok()) {
        base::Error error = inferred.error();
        error.message += "; free axes were tried at several sizes: give the inputs a shape by --shape "
                         "NAME=1x3x224x224";
        return error;
    }
    made.shapes = std::move(inferred).value();
    return made;
}

} // namespace

Result<RelevanceGraph> relevanceGraph(const LoadedModelPointer& model, const ExplainRequest& request,
                                      const RelevanceGraphForm& form, const std::stop_token& stop)
{
    RETRO_TRY(const LoadedModelPointer plain, inSteps(model, stop));
    RETRO_CHECK(checkNoBranches(*plain->graph()));
    RETRO_TRY(const ExplainRequest asked, forSteps(*model, *plain, request, stop));
    RETRO_TRY(FreeShapes free, freeShapes(plain, stop));
    if (free.fixed) {
        RETRO_TRY(RelevanceGraph made, relevanceGraph(free.fixed, request, form, stop));
        made.metadata["retrograde.model_hash"] = graph::contentDigest(*model->rewritten.before);
        made.warnings.push_back(fixedAxes(*plain->graph(), *free.fixed->graph()) +
                                " in the graph: a constant of the model has that extent, and no other was "
                                "found at which the model runs");
        return made;
    }
    Result<RelevanceGraph> made =
        unfinishedRelevanceGraph(*plain, asked, form, std::move(free.shapes), free.sizes.base, stop);
    const bool isBadInput = !made.ok() && made.error().code == base::ErrorCode::Input;
    if (isBadInput && !soleFreeExtent(*model->graph()).empty()) {
        Result<RelevanceGraph> joined = joinedFromThree(model, request, form, stop);
        if (joined.ok() && joined->graph) {
            made = std::move(joined);
        }
    }
    RETRO_TRY(RelevanceGraph written, std::move(made));
    RETRO_CHECK(finish(written, stop));
    return written;
}

Result<RelevanceGraph> writeRelevanceGraph(const std::filesystem::path& file, const LoadedModelPointer& model,
                                           const ExplainRequest& request, const RelevanceGraphForm& form,
                                           const std::stop_token& stop)
{
    if (file.extension() != ".onnx") {
        return base::usageError("a relevance graph is written as .onnx; end the name so", file.string());
    }
    RETRO_TRY(RelevanceGraph made, relevanceGraph(model, request, form, stop));
    RETRO_TRY(const std::vector<std::byte> bytes, formats::toOnnx(*made.graph, made.metadata));
    RETRO_CHECK(base::writeFile(file, bytes));
    return made;
}

} // namespace retro::engine
