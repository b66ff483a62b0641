// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/relevancewriter.h"

#include "core/base/cancel.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/explainer/forwardcopy.h"
#include "core/engine/explainer/maskedbranches.h"
#include "core/engine/explainer/relevancesite.h"
#include "core/engine/model/prepare.h"
#include "core/graph/attributes.h"
#include "core/graph/contentdigest.h"
#include "core/graph/walkback.h"
#include "core/lrp/rules/gradientorder.h"
#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/traversal/traversalgraph.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"
#include "core/tensor/checkedshape.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>

namespace retro::engine
{

using base::Result;

namespace
{

/// The operator set that relevance is written in, at least.
constexpr std::int64_t kLeastOpset = 17;
/// The largest input that is made to bind the model with, in bytes.
constexpr std::uint64_t kMostWrittenInput = std::uint64_t{1} << 30;

} // namespace

Result<std::vector<tensor::Tensor>> zerosFor(const graph::Graph& graph, std::int64_t freeExtent)
{
    std::vector<tensor::Tensor> inputs;
    for (const graph::ValueId id : graph.inputs()) {
        const graph::Value& value = graph.value(id);
        if (!value.shape) {
            return base::inputError("the model does not say its shape; give one by --shape NAME=1x3x224x224",
                                    fmt::format("input '{}'", value.name));
        }
        tensor::Shape shape;
        for (std::size_t axis = 0; axis < value.shape->size(); ++axis) {
            const auto& extent = (*value.shape)[axis].extent;
            shape.push_back(extent ? *extent : axis == 0 ? kFreeSamples : freeExtent);
        }
        if (!tensor::checkedBytes(shape, value.dtype, kMostWrittenInput).ok()) {
            return base::inputError("it is too large to be made; give a smaller shape by --shape",
                                    fmt::format("input '{}'", value.name));
        }
        inputs.push_back(tensor::Tensor::zeros(value.dtype, shape));
    }
    return inputs;
}

namespace
{

class Writer
{
public:
    Writer(const Prepared& prepared, const ExplainRequest& request, const RelevanceGraphForm& form,
           const LoadedModel& loaded, std::vector<SymbolicShape> shapes, const std::stop_token& stop)
        : m_prepared(prepared), m_model(*prepared.model), m_graph(m_model.graph()), m_request(request), m_form(form),
          m_loaded(loaded), m_shapes(std::move(shapes)), m_stop(stop), m_masked(m_model),
          m_builder(m_graph.name() + "-relevance")
    {}

    Result<RelevanceGraph> write()
    {
        RETRO_TRY(const graph::ValueId target, targetValue(m_request.target, m_model, &m_note));
        if (!m_note.empty()) {
            m_made.warnings.push_back(m_note);
        }
        RETRO_CHECK(checkTarget(target, m_request.target));
        for (const TargetRequest& also : m_request.alsoTargets) {
            RETRO_TRY(const graph::ValueId second, targetValue(also, m_model, &m_note));
            if (second != target) {
                return base::usageError("targets of one graph start at one value; write a graph for each", "--target");
            }
            RETRO_CHECK(checkTarget(target, also));
        }
        const tensor::Shape& explained = m_model.typeOf(target).shape;
        m_made.samples = explained.empty() ? 0 : explained.front();
        RETRO_CHECK(checkTypes());
        m_type = execute::dtypeOf(m_model.precision());
        m_made.floatType = m_type;
        takeFreeAxes();
        if (m_form.position) {
            RETRO_CHECK(checkPosition(target));
        }
        RETRO_CHECK(checkPools());
        const std::int64_t opset = std::max(kLeastOpset, m_graph.opset());
        m_builder.setOpset("", opset);
        RelevanceSteps steps(m_builder, opset, m_type);
        m_forward.emplace(m_builder, steps, m_model, [this](graph::ValueId id) { return dimensionsOf(id); });
        RETRO_CHECK(m_forward->write());
        const std::array targets{target};
        RETRO_TRY(const lrp::TraversalGraph order,
                  lrp::TraversalGraph::build(m_model, targets, lrp::edgeOrder(*m_prepared.rules)));
        RETRO_CHECK(checkValues(order));
        RETRO_CHECK(checkNames());
        RETRO_TRY(const ValueId start, startOf(steps, target));
        RETRO_CHECK(reverse(steps, order, start));
        addOutputs(steps, order);
        RETRO_TRY(graph::Graph built, std::move(m_builder).build(m_stop));
        m_made.graph = std::make_shared<const graph::Graph>(std::move(built));
        sayHints(target);
        describe(target);
        return std::move(m_made);
    }

private:
    Result<void> checkTarget(graph::ValueId target, const TargetRequest& request) const
    {
        const std::string where = fmt::format("value \"{}\"", m_graph.value(target).name);
        if (m_request.start.kind == StartKind::Given) {
            return base::usageError("a file has one shape; --start input makes the start an input of the graph");
        }
        const tensor::Shape& shape = m_model.typeOf(target).shape;
        const bool isWhole = m_request.start.kind == StartKind::All || m_form.start == GraphStart::Given;
        if (shape.size() < 2 && !isWhole && !isWholeValue()) {
            return base::inputError("it has no axis of classes behind that of the samples; use --start all", where);
        }
        const auto kind = request.kind;
        if (m_form.position) {
            return {}; // see checkPosition()
        }
        if (isWholeValue() && !isWhole && m_request.start.kind != StartKind::Logit) {
            return base::usageError("a value that is named without an element starts as a whole; leave --start out, or "
                                    "name a class",
                                    "--start");
        }
        if (m_form.start == GraphStart::Fixed && kind != TargetRequest::Kind::Argmax && !isWhole && !isWholeValue() &&
            !(kind == TargetRequest::Kind::Class && shape.size() == 2)) {
            return base::usageError("a class or argmax can be written into a graph; leave --target out and give the "
                                    "flat index of the element to the input `target`",
                                    "--target");
        }
        if (kind == TargetRequest::Kind::Class && shape.size() == 2 && shape[1] <= request.classIndex) {
            return base::usageError(fmt::format("there are {} classes", shape[1]), "--target");
        }
        return {};
    }

    Result<void> checkPosition(graph::ValueId target) const
    {
        const tensor::Shape& shape = m_model.typeOf(target).shape;
        if (shape.size() != 3) {
            return base::inputError("it has no axes batch × tokens × words, so there is no position in it",
                                    fmt::format("value \"{}\"", m_graph.value(target).name));
        }
        const bool isFree = !dimensionsOf(target)[1].extent;
        if (!isFree && (*m_form.position >= shape[1] || *m_form.position < -shape[1])) {
            return base::usageError(
                fmt::format("there is no position {} in texts of {} tokens", *m_form.position, shape[1]), "--position");
        }
        return {};
    }

    /// A value that is named without an element is explained as a whole, as `explain` does.
    [[nodiscard]] bool isWholeValue() const
    {
        return m_request.target.kind == TargetRequest::Kind::Value && m_request.target.index.empty();
    }

    /// Types of at most 8 bits are of quantised layers.
    Result<void> checkTypes() const
    {
        for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
            const tensor::DType own = m_model.numbersOf(graph::ValueId(i));
            if (tensor::isNarrowFloat(own)) {
                return base::inputError(
                    fmt::format("it is {}; relevance is written for models that compute in float16, "
                                "bfloat16, float32 or float64: export the float model",
                                tensor::nameOf(own)),
                    fmt::format("value \"{}\"", m_graph.value(graph::ValueId(i)).name));
            }
        }
        return {};
    }

    /// True for a pool with ceil_mode whose last window, along some axis, would start behind the edge.
    [[nodiscard]] bool startsBehindEdge(const graph::Node& node) const
    {
        const auto kernel = graph::attributeOr<std::vector<std::int64_t>>(node, "kernel_shape", {});
        const std::size_t axes = kernel.size();
        const std::vector<std::int64_t> ones(axes, 1);
        const auto strides = graph::attributeOr(node, "strides", ones);
        const auto dilations = graph::attributeOr(node, "dilations", ones);
        const bool hasPads = graph::attributeOr<std::string>(node, "auto_pad", "NOTSET") == "NOTSET";
        const std::vector<std::int64_t> none(2 * axes, 0);
        const auto pads = hasPads ? graph::attributeOr(node, "pads", none) : none;
        for (std::size_t i = 0; i < axes; ++i) {
            const std::int64_t reach = (kernel[i] - 1) * dilations[i] + 1;
            if (strides[i] + pads[axes + i] <= reach) {
                continue; // it starts before the edge, whatever the extent
            }
            const std::int64_t before = m_model.typeOf(node.inputs[0]).shape[i + 2] + pads[i];
            const std::int64_t steps = before + pads[axes + i] - reach;
            const std::int64_t counted = m_model.typeOf(node.outputs[0]).shape[i + 2];
            if (!m_free.isFree(node.inputs[0], i + 2) && (steps + strides[i] - 1) / strides[i] + 1 != counted) {
                return true;
            }
        }
        return false;
    }

    /// With ceil_mode, a last window that starts behind the edge does not count. Where the extent is known, onnxruntime
    /// infers a shape in which it does, and refuses the graph.
    Result<void> checkPools() const
    {
        for (const graph::Node& node : m_graph.nodes()) {
            const bool isPool = ops::isMaxPool(node) || node.op == "AveragePool" || node.op == "LpPool";
            const bool isCeiled = isPool && node.domain.empty() && graph::intAttribute(node, "ceil_mode", 0) != 0;
            if (isCeiled && startsBehindEdge(node)) {
                return base::inputError("ceil_mode: its last window would start behind the edge, which runtimes "
                                        "count or do not; export the model without ceil_mode",
                                        fmt::format("node '{}' ({})", node.name, node.op));
            }
        }
        return {};
    }

    void takeFreeAxes()
    {
        std::vector<std::vector<bool>> free(m_graph.valueCount());
        for (std::size_t i = 0; i < m_shapes.size(); ++i) {
            for (const std::string& extent : m_shapes[i].extents) {
                free[i].push_back(!std::ranges::all_of(extent, [](char c) { return c >= '0' && c <= '9'; }));
            }
        }
        m_free = FreeAxes(std::move(free));
    }

    [[nodiscard]] std::vector<graph::Dimension> dimensionsOf(graph::ValueId id) const
    {
        std::vector<graph::Dimension> dimensions;
        const tensor::Shape& shape = m_model.typeOf(id).shape;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            if (m_free.isFree(id, axis)) {
                const std::string& extent = m_shapes[id.index()].extents[axis];
                dimensions.push_back({std::nullopt, extent == "?" ? std::string() : extent});
            } else {
                dimensions.push_back({shape[axis], {}});
            }
        }
        return dimensions;
    }

    std::string unused(std::string name) const
    {
        while (m_builder.find(name) || m_graph.findValue(name)) {
            name += "~";
        }
        return name;
    }

    Result<void> checkValues(const lrp::TraversalGraph& order) const
    {
        for (const std::string& name : m_form.values) {
            const auto value = m_graph.findValue(name);
            if (!value || m_graph.value(*value).kind == graph::ValueKind::Constant) {
                return base::usageError(fmt::format("the model as it runs has no value \"{}\"; `retrograde-cli info "
                                                    "--shapes` lists them",
                                                    name),
                                        "--graph-values");
            }
            const base::NodeId node = m_graph.nodeOf(*value);
            if (!node.isValid() || !order.contains(node)) {
                return base::usageError(fmt::format("no relevance reaches the value \"{}\" from this target", name),
                                        "--graph-values");
            }
        }
        return {};
    }

    /// Names that the outputs get are free.
    Result<void> checkNames() const
    {
        const auto isTaken = [this](const std::string& name) {
            return m_graph.findValue("relevance/" + name).has_value();
        };
        std::vector<std::string> names = m_form.values;
        for (const graph::ValueId input : m_graph.inputs()) {
            names.push_back(m_graph.value(input).name);
        }
        const auto taken = std::ranges::find_if(names, isTaken);
        if (taken == names.end()) {
            return {};
        }
        return base::inputError(fmt::format("the model has a value of this name, which the relevance of \"{}\" gets in "
                                            "the graph; rename it in the model",
                                            *taken),
                                fmt::format("value \"relevance/{}\"", *taken));
    }

    /// The scores among which one is chosen, [N, classes], and the flat index of the first of them.
    struct Row
    {
        ValueId scores;
        ValueId first; ///< none: 0
    };

    Row rowOf(RelevanceSteps& steps, ValueId scores, ValueId flat)
    {
        if (!m_form.position) {
            return {flat, {}};
        }
        m_made.words = m_model.typeOf(m_target).shape[2];
        const ValueId position = steps.integer(*m_form.position);
        const ValueId shape = steps.shapeOf(scores);
        const ValueId tokens = steps.node("Gather", {shape, steps.integer(1)});
        const ValueId words = steps.node("Gather", {shape, steps.integer(2)});
        const ValueId at = *m_form.position < 0 ? steps.node("Add", {tokens, position}) : position;
        return {steps.node("Gather", {scores, position}, {{"axis", std::int64_t{1}}}), steps.node("Mul", {at, words})};
    }

    /// The index in its row per sample, [N, 1], of a target.
    ValueId indexOf(RelevanceSteps& steps, ValueId row, const TargetRequest& request)
    {
        const ValueId largest = steps.node("ArgMax", {row}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{1}}});
        if (m_form.start == GraphStart::Fixed) {
            const std::optional<std::int64_t> fixed = classOf(request);
            return fixed ? steps.node("Reshape", {steps.ints({*fixed}), steps.ints({1, 1})}) : largest;
        }
        m_made.chooser = unused("target");
        const graph::Dimension samples = dimensionsOf(m_target).front();
        const ValueId given =
            m_builder.addInput(m_made.chooser, tensor::DType::Int64, std::vector<graph::Dimension>{samples});
        const ValueId column = steps.node("Unsqueeze", {given, steps.ints({1})});
        const ValueId isOpen = steps.node("Less", {column, steps.ints({0})});
        return steps.where(isOpen, largest, column);
    }

    Result<ValueId> startOf(RelevanceSteps& steps, graph::ValueId target)
    {
        m_target = target;
        const ValueId scores = m_forward->forRelevance(target);
        ValueId start = scores;
        if (m_form.start == GraphStart::Given) {
            m_made.chooser = unused("start");
            start = m_builder.addInput(m_made.chooser, m_type, dimensionsOf(target));
        } else if (m_request.start.kind != StartKind::All && !isWholeValue()) {
            start = startOfClass(steps, scores, m_request.target);
            for (const TargetRequest& also : m_request.alsoTargets) {
                start = steps.add(start, startOfClass(steps, scores, also));
            }
            start = steps.reshapeLike(start, scores);
        }
        m_started = start;
        return m_prepared.composite.dividesStart ? steps.guardedQuotient(start, scores) : start;
    }

    ValueId startOfClass(RelevanceSteps& steps, ValueId scores, const TargetRequest& request)
    {
        const ValueId flat = steps.node("Reshape", {scores, steps.ints({0, -1})});
        const Row row = rowOf(steps, scores, flat);
        const ValueId chosen = indexOf(steps, row.scores, request);
        const ValueId index = row.first.isValid() ? steps.node("Add", {chosen, row.first}) : chosen;
        const ValueId shape = steps.shapeOf(flat);
        const ValueId zero = steps.integer(0);
        const ValueId one = steps.integer(1);
        const ValueId count = steps.node("Gather", {shape, one});
        const ValueId range = steps.node("Range", {zero, count, one});
        const ValueId isChosen = steps.node("Expand", {steps.node("Equal", {index, range}), shape});
        const auto started = [&] {
            switch (m_request.start.kind) {
            case StartKind::One:
                return steps.asFloat(isChosen);
            case StartKind::Contrastive: {
                const ValueId other = steps.node("Div", {steps.scalar(-1), steps.asFloat(count)});
                return steps.where(isChosen, steps.scalar(1), other);
            }
            default:
                return steps.where(isChosen, flat, steps.scalar(0));
            }
        };
        if (m_form.start == GraphStart::Fixed) {
            return started();
        }
        // A graph cannot refuse an index; one that does not exist makes the sample's relevance no number.
        const ValueId classes = row.first.isValid() ? steps.integer(m_made.words) : count;
        const ValueId isThere = steps.node("Less", {chosen, classes});
        return steps.where(isThere, started(), steps.scalar(std::numeric_limits<double>::quiet_NaN()));
    }

    Result<void> reverse(RelevanceSteps& steps, const lrp::TraversalGraph& order, ValueId start)
    {
        m_relevance.resize(m_graph.valueCount());
        std::vector<ValueId> parts(order.inEdgeCount());
        const lrp::Root& root = order.roots().front();
        parts[order.firstInEdge(root.node) + root.inEdge] = start;
        for (const base::NodeId node : std::views::reverse(order.postOrder())) {
            RETRO_CHECK(base::checkStop(m_stop));
            std::vector<ValueId> arrived = arrivedAt(steps, order, node, parts);
            const std::span<const graph::ValueId> outputs = m_graph.outputsOf(node);
            for (std::size_t k = 0; k < outputs.size() && k < arrived.size(); ++k) {
                if (outputs[k].isValid()) {
                    m_relevance[outputs[k].index()] = arrived[k];
                }
            }
            if (m_graph.isInput(node) || std::ranges::none_of(arrived, &ValueId::isValid)) {
                continue;
            }
            RETRO_TRY(std::vector<ValueId> shares, sharesOf(steps, order, node, std::move(arrived)));
            RETRO_CHECK(takeToTokens(steps, node, shares));
            const auto children = order.children(node);
            for (std::size_t slot = 0; slot < children.size(); ++slot) {
                if (children[slot].child.isValid()) {
                    parts[order.firstInEdge(children[slot].child) + children[slot].inEdge] = shares[slot];
                }
            }
        }
        return {};
    }

    /// What the indices of an embedding got, in the shape of the input whose numbers they are.
    Result<void> takeToTokens(RelevanceSteps& steps, base::NodeId node, std::vector<ValueId>& shares)
    {
        constexpr std::int64_t kMostPlaces = 1 << 24;
        for (std::size_t slot = 0; slot < shares.size(); ++slot) {
            const execute::TokenPlaces* const tokens = m_model.tokensAt(node, slot);
            if (tokens == nullptr || !shares[slot].isValid()) {
                continue;
            }
            const std::int64_t count = tensor::elementCount(tokens->inputShape);
            const auto places = static_cast<std::int64_t>(tokens->places.size());
            const bool isFree = m_free.hasFree(tokens->input);
            if ((isFree && (places > 0 || isTurned(m_graph.node(node).inputs[slot]))) || places * count > kMostPlaces) {
                return base::inputError(
                    fmt::format("the tokens \"{}\" are moved before they choose rows, which is not "
                                "written for {}; {}",
                                m_graph.value(tokens->input).name, isFree ? "free extents" : "so many of them",
                                isFree ? "give the inputs a shape by --shape" : "explain it instead"),
                    fmt::format("node \"{}\"", m_graph.node(node).name));
            }
            if (places > 0) { // a column for each token, with a 1 for each index that it chose
                std::vector<double> ones(static_cast<std::size_t>(places * count), 0);
                for (std::int64_t i = 0; i < places; ++i) {
                    const std::int64_t place = tokens->places[static_cast<std::size_t>(i)];
                    ones[static_cast<std::size_t>(place < 0 ? 0 : i * count + place)] += place < 0 ? 0 : 1;
                }
                const ValueId row = steps.node("Reshape", {shares[slot], steps.ints({1, places})});
                shares[slot] =
                    steps.node("MatMul", {row, steps.floats(tensor::Tensor::of<double>({places, count}, ones))});
            }
            if (places > 0 || tokens->shape != tokens->inputShape) {
                shares[slot] = steps.reshapeLike(shares[slot], m_forward->own(tokens->input));
            }
        }
        return {};
    }

    /// Whether axes are exchanged somewhere between a value and the inputs.
    [[nodiscard]] bool isTurned(graph::ValueId value) const
    {
        bool found = false;
        graph::walkBack(m_graph, value, [&](graph::ValueId one) {
            const base::NodeId id = m_graph.nodeOf(one);
            found = found || (id.isValid() && !m_graph.isInput(id) &&
                              ops::areElements(m_graph.node(id), {ops::Elements::Turned}));
            return found ? graph::Walk::Stop : graph::Walk::GoOn;
        });
        return found;
    }

    /// As the engine adds: the parts of one reader first, then one after the other.
    static std::vector<ValueId> arrivedAt(RelevanceSteps& steps, const lrp::TraversalGraph& order, base::NodeId node,
                                          const std::vector<ValueId>& parts)
    {
        const auto inEdges = order.inEdges(node);
        std::vector<std::vector<ValueId>> gathered(order.outputCount(node));
        for (std::size_t i = 0; i < inEdges.size(); ++i) {
            const ValueId part = parts[order.firstInEdge(node) + i];
            if (!part.isValid()) {
                continue;
            }
            std::vector<ValueId>& list = gathered[inEdges[i].output];
            if (inEdges[i].isJoined && !list.empty()) {
                list.back() = steps.add(list.back(), part);
            } else {
                list.push_back(part);
            }
        }
        std::vector<ValueId> arrived;
        for (const std::vector<ValueId>& list : gathered) {
            ValueId sum;
            for (const ValueId part : list) {
                sum = sum.isValid() ? steps.add(sum, part) : part;
            }
            arrived.push_back(sum);
        }
        return arrived;
    }

    RelevanceParts sharesOf(RelevanceSteps& steps, const lrp::TraversalGraph& order, base::NodeId id,
                            std::vector<ValueId> arrived)
    {
        const graph::Node& node = m_graph.node(id);
        const lrp::RulePointer& rule = (*m_prepared.rules)[id.index()].rule;
        RelevanceSite site{steps,
                           m_model,
                           id,
                           node,
                           *rule,
                           m_free,
                           *m_prepared.rules,
                           m_form.usesTaps,
                           copies(node.inputs),
                           copies(node.outputs),
                           std::move(arrived),
                           lrp::trackedSlots(order, id)};
        guardMasked(site);
        return relevanceParts(site);
    }

    /// Another number in the place of forward values of a masked branch at which nothing arrives.
    void guardMasked(RelevanceSite& site)
    {
        const ops::StructureKind kind = site.structure().kind();
        const bool isOfMatrices = kind == ops::StructureKind::LinearMap || kind == ops::StructureKind::Bilinear;
        const bool isGuarded = site.outputs.size() == 1 && (isOfMatrices || isOfPlaces(m_model, site.id));
        const auto isMasked = [&](graph::ValueId value) { return value.isValid() && m_masked.contains(value); };
        if (!isGuarded || (!isMasked(site.node.outputs[0]) && std::ranges::none_of(site.node.inputs, isMasked))) {
            return;
        }
        RelevanceSteps& steps = site.steps;
        const ValueId one = steps.scalar(1);
        const ValueId isNone = steps.node("Equal", {site.relevance[0], steps.scalar(0)});
        const auto isWrong = [&](ValueId x) {
            return steps.node("Or", {steps.node("IsNaN", {x}), steps.node("IsInf", {x})});
        };
        if (isMasked(site.node.outputs[0])) {
            ValueId& y = site.outputs[0];
            y = steps.where(steps.node("And", {isNone, isWrong(y)}), one, y);
        }
        for (std::size_t slot = 0; slot < site.operands.size(); ++slot) {
            ValueId& x = site.operands[slot];
            if (isOfMatrices && isMasked(site.node.inputs[slot])) {
                x = steps.where(isWrong(x), one, x);
            } else if (!isOfMatrices && site.isTracked(slot) && site.shape(slot) == site.outputShape()) {
                x = steps.where(isNone, one, x); // slopes may be infinite there
            }
        }
    }

    [[nodiscard]] std::vector<ValueId> copies(const std::vector<graph::ValueId>& values)
    {
        std::vector<ValueId> list;
        for (const graph::ValueId value : values) {
            list.push_back(value.isValid() ? m_forward->forRelevance(value) : value);
        }
        return list;
    }

    /// Relevance of a value; zeros where nothing arrived.
    ValueId relevanceOf(RelevanceSteps& steps, graph::ValueId value)
    {
        const ValueId known = m_relevance[value.index()];
        return known.isValid() ? known : steps.filledLike(m_forward->own(value), 0);
    }

    void addOutput(RelevanceSteps& steps, graph::ValueId value, ValueId relevance)
    {
        const std::string name = "relevance/" + m_graph.value(value).name;
        if (std::ranges::find(m_made.relevance, name) != m_made.relevance.end()) {
            return; // asked for twice
        }
        const ValueId output = m_builder.addResult(name);
        m_builder.declare(output, m_type, dimensionsOf(value));
        steps.named("Identity", {relevance}, output);
        m_builder.addOutput(output);
        m_made.relevance.push_back(name);
    }

    void addSum(RelevanceSteps& steps, const std::string& name, const std::vector<ValueId>& of)
    {
        ValueId sum;
        for (const ValueId one : of) {
            const ValueId all = steps.node("ReduceSum", {one}, {{"keepdims", std::int64_t{0}}});
            sum = sum.isValid() ? steps.add(sum, all) : all;
        }
        const ValueId output = m_builder.addResult(unused(name));
        m_builder.declare(output, m_type, std::vector<graph::Dimension>{});
        steps.named("Identity", {sum.isValid() ? sum : steps.scalar(0)}, output);
        m_builder.addOutput(output);
    }

    void addOutputs(RelevanceSteps& steps, const lrp::TraversalGraph& order)
    {
        std::vector<ValueId> reached;
        for (const graph::ValueId input : m_graph.inputs()) {
            if (!m_model.isTracked(input) || !order.contains(m_graph.inputNode(input))) {
                if (tensor::isFloating(m_model.typeOf(input).dtype)) {
                    addOutput(steps, input, steps.filledLike(m_forward->own(input), 0));
                }
                continue;
            }
            ValueId relevance = relevanceOf(steps, input);
            if (m_prepared.composite.timesInput && tensor::isFloating(m_model.typeOf(input).dtype)) {
                relevance = steps.multiply(relevance, m_forward->forRelevance(input));
            }
            reached.push_back(relevance);
            addOutput(steps, input, relevance);
        }
        for (const std::string& name : m_form.values) {
            const graph::ValueId value = *m_graph.findValue(name);
            addOutput(steps, value, relevanceOf(steps, value));
        }
        addSum(steps, "rg.started", {m_started});
        addSum(steps, "rg.reached", reached);
    }

    /// What `explain` says of such a target whatever the input: a softmax behind it.
    void sayHints(graph::ValueId target)
    {
        ResolvedTarget unknown;
        unknown.value = target;
        const auto fixed = m_form.start == GraphStart::Fixed ? classOf(m_request.target) : std::nullopt;
        unknown.index = {fixed.value_or(-1)};
        unknown.logit = {1};
        if (std::string hint = targetHint(m_model, unknown); !hint.empty()) {
            m_made.warnings.push_back(std::move(hint));
        }
    }

    /// The class, or the word at the position of the form, that a request names; none: the largest.
    [[nodiscard]] static std::optional<std::int64_t> classOf(const TargetRequest& request)
    {
        if (request.kind == TargetRequest::Kind::Class) {
            return request.classIndex;
        }
        const auto at = std::ranges::find(request.place, "class", &TargetRequest::Coordinate::axis);
        return at == request.place.end() ? std::nullopt : std::optional(at->index);
    }

    /// "scores:3,argmax", "logits[:, -1]:3".
    [[nodiscard]] std::string targetText(graph::ValueId target) const
    {
        std::string text = m_graph.value(target).name;
        if (m_form.position) {
            text += fmt::format("[:, {}]", *m_form.position);
        }
        if (m_form.start != GraphStart::Fixed) {
            return text;
        }
        std::vector<TargetRequest> all{m_request.target};
        all.insert(all.end(), m_request.alsoTargets.begin(), m_request.alsoTargets.end());
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::optional<std::int64_t> fixed = classOf(all[i]);
            text += (i == 0 ? ":" : ",") + (fixed ? fmt::format("{}", *fixed) : std::string("argmax"));
        }
        return text;
    }

    void describe(graph::ValueId target)
    {
        nlohmann::ordered_json rules = nlohmann::ordered_json::object();
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            if (const lrp::RulePointer& rule = (*m_prepared.rules)[i].rule) {
                rules[m_graph.node(base::NodeId(i)).name] = rule->text();
            }
        }
        nlohmann::ordered_json rewrites = nlohmann::ordered_json::array();
        for (const rewrite::RewriteStep& step : m_loaded.rewritten.steps) {
            if (!step.isNote) {
                rewrites.push_back(step.rewrite + ": " + step.text);
            }
        }
        m_made.metadata = {{"retrograde.composite", m_prepared.composite.name},
                           {"retrograde.target", targetText(target)},
                           {"retrograde.start", m_form.start == GraphStart::Given ? "input" : nameOf(m_request.start)},
                           {"retrograde.version", m_form.version},
                           {"retrograde.model_hash", graph::contentDigest(*m_loaded.rewritten.before)},
                           {"retrograde.rewrites", rewrites.dump()},
                           {"retrograde.rules", rules.dump()}};
    }

    const Prepared& m_prepared;
    const execute::BoundModel& m_model;
    const graph::Graph& m_graph;
    const ExplainRequest& m_request;
    const RelevanceGraphForm& m_form;
    const LoadedModel& m_loaded;
    std::vector<SymbolicShape> m_shapes; ///< by value; none where no axis is free
    const std::stop_token& m_stop;
    MaskedBranches m_masked;
    graph::GraphBuilder m_builder;
    std::optional<ForwardCopy> m_forward;
    std::vector<ValueId> m_relevance; ///< by value of the model
    FreeAxes m_free;
    tensor::DType m_type = tensor::DType::Float32;
    graph::ValueId m_target;
    ValueId m_started;
    std::string m_note;
    RelevanceGraph m_made;
};

} // namespace

Result<RelevanceGraph> unfinishedRelevanceGraph(const LoadedModel& plain, const ExplainRequest& request,
                                                const RelevanceGraphForm& form, std::vector<SymbolicShape> shapes,
                                                std::int64_t freeExtent, const std::stop_token& stop)
{
    ExplainRequest bound = request;
    RETRO_TRY(bound.inputs, zerosFor(*plain.graph(), freeExtent));
    Result<std::shared_ptr<const Prepared>> made = prepare(plain, bound, nullptr, stop);
    if (!made.ok() && !shapes.empty()) {
        base::Error error = made.error();
        error.message += fmt::format("; free axes were taken as {} samples and {} elements: give the inputs a shape by "
                                     "--shape NAME=1x3x224x224",
                                     kFreeSamples, freeExtent);
        return error;
    }
    RETRO_TRY(const auto prepared, std::move(made));
    if (!prepared->writtenOut.empty()) {
        return base::inputError("a graph for one run of If, Loop or Scan is no model; leave the branch out of the "
                                "model, or use --rewrite inline-branches",
                                prepared->writtenOut.front());
    }
    for (std::size_t i = 0; i < bound.inputs.size(); ++i) {
        if (prepared->model->boundInputs()[i].isValid()) {
            return base::inputError(
                "shapes in the model depend on the data of this input, and a graph for one of them is "
                "no model; compute what depends on it outside of the model",
                fmt::format("input '{}'", plain.graph()->value(plain.graph()->inputs()[i]).name));
        }
    }
    ExplainResult words;
    RETRO_CHECK(takeRules(*prepared, words));
    RETRO_TRY(RelevanceGraph written, Writer(*prepared, bound, form, plain, std::move(shapes), stop).write());
    written.freeExtent = freeExtent;
    written.warnings.insert(written.warnings.begin(), words.warnings.begin(), words.warnings.end());
    return written;
}

} // namespace retro::engine
