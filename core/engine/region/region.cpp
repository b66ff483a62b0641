// SPDX-License-Identifier: Apache-2.0
#include "core/engine/region/region.h"

#include "core/engine/explain/placetext.h"
#include "core/lrp/rules/gradientorder.h"
#include "core/lrp/traversal/regionpass.h"
#include "core/ops/algebra.h"
#include "core/tensor/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace retro::engine
{

namespace algebra = ops::algebra;
using base::NodeId;
using base::Result;
using base::ValueId;
using tensor::Tensor;

std::string RegionRequest::text() const
{
    std::vector<std::string> parts = masks;
    if (!box.empty()) {
        parts.push_back("box " + box);
    }
    if (!tokens.empty()) {
        parts.push_back("tokens " + tokens);
    }
    return parts.empty() ? std::string("a mask") : fmt::format("{}", fmt::join(parts, "; "));
}

namespace
{

/// Makes masks of texts.
class MaskReader
{
public:
    MaskReader(const execute::BoundModel& model, std::string_view layout)
        : m_model(model), m_layout(layout), m_masks(model.graph().inputs().size())
    {}

    Result<void> takeFile(const std::string& text)
    {
        const std::size_t at = nameEnd(text);
        RETRO_TRY(const std::size_t input, at == std::string::npos ? onlyInput(text) : inputNamed(text.substr(0, at)));
        const std::string file = at == std::string::npos ? text : text.substr(at + 1);
        RETRO_TRY(const Tensor read, tensor::readNpy(file));
        const tensor::Shape& shape = typeOf(input).shape;
        if (!fits(read.shape(), shape)) {
            return base::inputError(fmt::format("the mask is {}, but the input \"{}\" is {}; a mask has a number for "
                                                "each element, or fewer axes at the front",
                                                tensor::toText(read.shape()), nameOf(input), tensor::toText(shape)),
                                    file);
        }
        const Tensor mask = algebra::broadcastTo(read.to(floatType()).contiguous(), shape).contiguous();
        if (!algebra::allFinite(mask)) {
            return base::inputError("the mask has numbers that are not finite", file);
        }
        add(input, mask);
        return {};
    }

    Result<void> takeBox(const std::string& text)
    {
        RETRO_TRY(const std::vector<IndexRange> ranges, parseRanges(text, "--region-box"));
        RETRO_TRY(const std::size_t input, onlyInput("--region-box " + text));
        const tensor::Shape& shape = typeOf(input).shape;
        if (ranges.size() >= shape.size() || shape.size() < 2) {
            return base::usageError(fmt::format("the input \"{}\" is {} and has no {} axes behind its samples",
                                                nameOf(input), tensor::toText(shape), ranges.size()),
                                    "--region-box " + text);
        }
        const bool channelsLast = m_layout.ends_with('C') && shape.size() > ranges.size() + 1;
        std::size_t axis = shape.size() - ranges.size() - (channelsLast ? 1 : 0);
        std::vector<AxisRange> box;
        for (const IndexRange& range : ranges) {
            box.push_back({axis++, range});
        }
        return mark(input, {box}, "--region-box " + text);
    }

    Result<void> takeTokens(const std::string& text)
    {
        RETRO_TRY(const std::vector<IndexRange> ranges, parseList(text, "--region-tokens"));
        RETRO_TRY(const std::size_t input, tokenInput("--region-tokens " + text));
        if (typeOf(input).shape.size() > 3) {
            return base::usageError(fmt::format("the input \"{}\" is {} and no row of tokens; mark a part of it with "
                                                "--region-box",
                                                nameOf(input), tensor::toText(typeOf(input).shape)),
                                    "--region-tokens " + text);
        }
        std::vector<std::vector<AxisRange>> boxes;
        for (const IndexRange& range : ranges) {
            boxes.push_back({{typeOf(input).shape.size() > 1 ? std::size_t{1} : std::size_t{0}, range}});
        }
        return mark(input, boxes, "--region-tokens " + text);
    }

    std::vector<Tensor> take() { return std::move(m_masks); }

private:
    struct AxisRange
    {
        std::size_t axis;
        IndexRange range;
    };

    [[nodiscard]] ValueId valueOf(std::size_t input) const { return m_model.graph().inputs()[input]; }
    [[nodiscard]] const ops::TensorType& typeOf(std::size_t input) const { return m_model.typeOf(valueOf(input)); }
    [[nodiscard]] const std::string& nameOf(std::size_t input) const
    {
        return m_model.graph().value(valueOf(input)).name;
    }
    [[nodiscard]] tensor::DType floatType() const { return execute::dtypeOf(m_model.precision()); }
    static bool fits(const tensor::Shape& from, const tensor::Shape& to)
    {
        if (from.size() > to.size()) {
            return false;
        }
        return std::equal(from.rbegin(), from.rend(), to.rbegin(),
                          [](std::int64_t a, std::int64_t b) { return a == b || a == 1; });
    }

    /// Where NAME of NAME=FILE ends: names and files may have signs of equality themselves.
    [[nodiscard]] std::size_t nameEnd(const std::string& text) const
    {
        std::size_t end = text.find('=');
        const std::vector<std::size_t> all = tracked();
        for (std::size_t at = end; at != std::string::npos; at = text.find('=', at + 1)) {
            if (std::ranges::any_of(all, [&](std::size_t input) { return nameOf(input) == text.substr(0, at); })) {
                end = at;
            }
        }
        return end;
    }

    [[nodiscard]] std::vector<std::size_t> tracked() const
    {
        std::vector<std::size_t> all;
        for (std::size_t i = 0; i < m_masks.size(); ++i) {
            if (m_model.isTracked(valueOf(i))) {
                all.push_back(i);
            }
        }
        return all;
    }

    Result<std::size_t> onlyInput(const std::string& text) const
    {
        const std::vector<std::size_t> all = tracked();
        if (all.empty()) {
            return base::usageError("no input of this model carries relevance", text);
        }
        if (all.size() > 1) {
            return base::usageError(fmt::format("{} inputs carry relevance; say which one is meant with --region "
                                                "NAME=MASK.npy",
                                                all.size()),
                                    text);
        }
        return all.front();
    }

    Result<std::size_t> tokenInput(const std::string& text) const
    {
        for (const std::size_t input : tracked()) {
            if (!tensor::isFloating(typeOf(input).dtype)) {
                return input;
            }
        }
        return onlyInput(text);
    }

    Result<std::size_t> inputNamed(const std::string& name) const
    {
        std::vector<std::string> names;
        for (const std::size_t input : tracked()) {
            if (nameOf(input) == name) {
                return input;
            }
            names.push_back(nameOf(input));
        }
        return base::usageError(
            fmt::format("no input \"{}\" carries relevance; there are: {}", name, fmt::join(names, ", ")), "--region");
    }

    Result<void> mark(std::size_t input, const std::vector<std::vector<AxisRange>>& boxes, const std::string& where)
    {
        const tensor::Shape& shape = typeOf(input).shape;
        for (const std::vector<AxisRange>& box : boxes) {
            for (const AxisRange& one : box) {
                if (one.range.end > shape[one.axis] || one.range.begin >= one.range.end) {
                    return base::usageError(fmt::format("axis {} of the input \"{}\" has {} elements, and {}:{} is no "
                                                        "part of it",
                                                        one.axis, nameOf(input), shape[one.axis], one.range.begin,
                                                        one.range.end),
                                            where);
                }
            }
        }
        std::vector<double> marks(static_cast<std::size_t>(tensor::elementCount(shape)), 0);
        std::size_t at = 0;
        forEachPlace(shape, [&](const tensor::Shape& place) {
            const auto isInside = [&](const std::vector<AxisRange>& box) {
                return std::ranges::all_of(box, [&](const AxisRange& one) {
                    return place[one.axis] >= one.range.begin && place[one.axis] < one.range.end;
                });
            };
            marks[at++] = std::ranges::any_of(boxes, isInside) ? 1 : 0;
        });
        add(input, Tensor::of<double>(shape, marks).to(floatType()));
        return {};
    }

    void add(std::size_t input, const Tensor& mask)
    {
        m_masks[input] = m_masks[input].isValid() ? algebra::add(m_masks[input], mask) : mask;
    }

    const execute::BoundModel& m_model;
    std::string_view m_layout;
    std::vector<Tensor> m_masks;
};

/// Σ|mask| from which on weights may leave what their type holds.
constexpr double kLargeMask = 1e12;

Result<void> checkNotTooLarge(std::span<const Tensor> masks, std::span<const Tensor> weights, const graph::Graph& graph)
{
    const auto isLarge = [](const Tensor& mask) { return mask.isValid() && algebra::sumAbsolute(mask) > kLargeMask; };
    if (std::ranges::none_of(masks, isLarge)) {
        return {};
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (weights[i].isValid() && !algebra::allFinite(weights[i])) {
            return base::inputError(fmt::format("the numbers of the mask are too large: the weights of \"{}\" are not "
                                                "finite; a mask usually has numbers from 0 to 1",
                                                graph.value(ValueId(i)).name),
                                    "--region");
        }
    }
    return {};
}

} // namespace

Result<std::vector<Tensor>> regionMasks(const RegionRequest& request, const execute::BoundModel& model,
                                        std::string_view layout)
{
    if (!request.given.empty()) {
        std::vector<Tensor> masks = request.given;
        masks.resize(model.graph().inputs().size());
        for (Tensor& mask : masks) {
            mask = mask.isValid() ? mask.to(execute::dtypeOf(model.precision())) : mask;
        }
        return masks;
    }
    MaskReader reader(model, layout);
    for (const std::string& file : request.masks) {
        RETRO_CHECK(reader.takeFile(file));
    }
    if (!request.box.empty()) {
        RETRO_CHECK(reader.takeBox(request.box));
    }
    if (!request.tokens.empty()) {
        RETRO_CHECK(reader.takeTokens(request.tokens));
    }
    return reader.take();
}

constexpr std::int64_t kMemoryBytes = std::int64_t{512} << 20; ///< of denominators that are kept between passes

struct RegionAsker::Data
{
    std::shared_ptr<const execute::BoundModel> model;
    lrp::RuleAssignment rules;
    std::optional<lrp::TraversalGraph> graph;
    std::vector<Tensor> inputs;
    std::map<ValueId, Tensor> values;
    bool timesInput = false;
    std::unique_ptr<lrp::WeighMemory> memory; ///< of all passes

    [[nodiscard]] Tensor valueOf(ValueId value) const
    {
        if (!value.isValid()) {
            return {};
        }
        const auto found = values.find(value);
        return found == values.end() ? model->constant(value) : found->second;
    }

    [[nodiscard]] lrp::NodeValues of(NodeId node) const
    {
        lrp::NodeValues all;
        for (const ValueId operand : model->graph().node(node).inputs) {
            all.operands.push_back(valueOf(operand));
        }
        for (const ValueId output : model->graph().outputsOf(node)) {
            all.outputs.push_back(valueOf(output));
        }
        return all;
    }

    /// Computed values that the weights of a node are made with.
    void addNeeds(NodeId node, std::set<ValueId>& needs) const
    {
        const lrp::RuleSite site =
            lrp::ruleSite(*model, node, rules[node.index()].rule, lrp::trackedSlots(*graph, node));
        const ops::Reads reads = lrp::readsForWeights(*model, node, site);
        const graph::Graph& all = model->graph();
        const auto& operands = all.node(node).inputs;
        for (std::size_t slot = 0; slot < operands.size(); ++slot) {
            if (reads.operand(slot) && operands[slot].isValid() && !model->isConstant(operands[slot])) {
                needs.insert(operands[slot]);
            }
        }
        const auto outputs = all.outputsOf(node);
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            if (reads.output(k) && outputs[k].isValid()) {
                needs.insert(outputs[k]);
            }
        }
    }

    /// Takes what the forward pass kept; hands back what it did not.
    std::vector<ValueId> takeKept(const RegionSource& source, const std::set<ValueId>& needs)
    {
        std::vector<ValueId> missing;
        for (const ValueId value : needs) {
            if (values.contains(value)) {
                continue;
            }
            Tensor kept = source.saved != nullptr ? source.saved->anyValue(value) : Tensor();
            if (!kept.isValid() && value.index() < source.known.size()) {
                kept = source.known[value.index()];
            }
            if (kept.isValid()) {
                values[value] = std::move(kept);
            } else {
                missing.push_back(value);
            }
        }
        return missing;
    }

    /// What the forward pass kept, and what is made again for the rest.
    Result<void> findValues(const RegionSource& source)
    {
        std::set<ValueId> needs;
        for (const NodeId node : graph->postOrder()) {
            if (!graph->children(node).empty()) {
                addNeeds(node, needs);
            }
        }
        const auto ids = model->graph().inputs();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            values[ids[i]] = inputs[i];
        }
        const std::vector<ValueId> missing = takeKept(source, needs);
        if (missing.empty()) {
            return {};
        }
        const auto store = std::make_shared<execute::MemoryValueStore>(model->graph().valueCount());
        RETRO_CHECK(execute::forwardInto(store, model, inputs, missing, source.stop));
        for (const ValueId value : missing) {
            values[value] = store->get(value);
        }
        return {};
    }
};

RegionAsker::RegionAsker(std::unique_ptr<Data> data) : m_data(std::move(data)) {}
RegionAsker::RegionAsker(RegionAsker&&) noexcept = default;
RegionAsker& RegionAsker::operator=(RegionAsker&&) noexcept = default;
RegionAsker::~RegionAsker() = default;

Result<RegionAsker> RegionAsker::make(const RegionSource& source)
{
    auto data = std::make_unique<Data>();
    data->model = source.model;
    data->rules = source.rules;
    data->inputs.assign(source.inputs.begin(), source.inputs.end());
    data->timesInput = source.timesInput;
    RETRO_TRY(data->graph, lrp::TraversalGraph::build(*source.model, source.targets, lrp::edgeOrder(source.rules)));
    RETRO_CHECK(lrp::checkWeighable(*source.model, source.rules, *data->graph));
    RETRO_CHECK(data->findValues(source));
    data->memory = std::make_unique<lrp::WeighMemory>(source.model->graph().nodeCount(), kMemoryBytes);
    return RegionAsker(std::move(data));
}

Result<std::vector<Tensor>> RegionAsker::ask(std::span<const Tensor> masks, const std::stop_token& stop) const
{
    std::vector<Tensor> inside(masks.begin(), masks.end());
    for (std::size_t i = 0; m_data->timesInput && i < inside.size(); ++i) {
        if (inside[i].isValid() && tensor::isFloating(m_data->inputs[i].dtype())) {
            inside[i] = algebra::multiply(inside[i], m_data->inputs[i]); // what flows there is a gradient
        }
    }
    RETRO_TRY(std::vector<Tensor> weights,
              lrp::regionWeights({*m_data->model,
                                  m_data->rules,
                                  *m_data->graph,
                                  [this](NodeId node, const ops::Reads&) { return m_data->of(node); },
                                  inside,
                                  {},
                                  {},
                                  {},
                                  stop,
                                  m_data->memory.get()}));
    RETRO_CHECK(checkNotTooLarge(masks, weights, m_data->model->graph()));
    const auto ids = m_data->model->graph().inputs();
    for (std::size_t i = 0; i < ids.size() && i < masks.size(); ++i) {
        if (weights[ids[i].index()].isValid()) {
            weights[ids[i].index()] = masks[i];
        }
    }
    return weights;
}

Result<std::vector<Tensor>> RegionAsker::askAt(ValueId value, const Tensor& weights, const std::stop_token& stop) const
{
    return lrp::regionWeights({*m_data->model,
                               m_data->rules,
                               *m_data->graph,
                               [this](NodeId node, const ops::Reads&) { return m_data->of(node); },
                               {},
                               value,
                               weights,
                               {},
                               stop,
                               m_data->memory.get()});
}

Tensor RegionAsker::value(ValueId value) const { return m_data->valueOf(value); }

std::vector<Tensor> RegionAsker::whole() const
{
    std::vector<Tensor> masks;
    for (const ValueId input : m_data->model->graph().inputs()) {
        masks.push_back(m_data->model->isTracked(input) ? Tensor::full(execute::dtypeOf(m_data->model->precision()),
                                                                       m_data->model->typeOf(input).shape, 1)
                                                        : Tensor());
    }
    return masks;
}

double regionTotal(std::span<const Tensor> masks, std::span<const Tensor> relevance, const graph::Graph& graph)
{
    double total = 0;
    for (std::size_t i = 0; i < masks.size(); ++i) {
        const Tensor& arrived = relevance[graph.inputs()[i].index()];
        total += masks[i].isValid() && arrived.isValid() ? algebra::dot(masks[i], arrived) : 0;
    }
    return total;
}

std::optional<std::size_t> channelAxisOf(const tensor::Shape& shape)
{
    if (shape.size() < 2) {
        return std::nullopt;
    }
    return shape.size() == 3 && shape[1] != 1 && shape[2] >= shape[1] ? std::size_t{2} : std::size_t{1};
}

namespace
{

std::vector<double> sumsAlong(const Tensor& t, std::size_t axis)
{
    tensor::Shape kept(t.rank(), 1);
    kept[axis] = t.shape()[axis];
    const Tensor sums = algebra::reduceTo(t, kept);
    std::vector<double> all;
    for (std::int64_t i = 0; i < sums.size(); ++i) {
        all.push_back(sums.at(i));
    }
    return all;
}

} // namespace

std::vector<RegionShare> regionShares(const RegionResult& region, std::span<const Tensor> relevance,
                                      const graph::Graph& graph)
{
    std::vector<RegionShare> shares;
    for (std::size_t i = 0; i < region.weights.size() && i < graph.valueCount(); ++i) {
        const Tensor& w = region.weights[i];
        if (!w.isValid() || i >= relevance.size() || !relevance[i].isValid()) {
            continue;
        }
        const Tensor product = algebra::multiply(relevance[i], algebra::laidOutAs(w, relevance[i]));
        RegionShare share{ValueId(i), algebra::sum(product), algebra::sum(relevance[i]), algebra::sum(w), {}, {}, {}};
        if (i < region.arriving.size() && region.arriving[i].isValid()) {
            share.arrives = algebra::dot(relevance[i], region.arriving[i]);
        }
        share.axis = channelAxisOf(w.shape());
        if (share.axis) {
            share.perChannel = sumsAlong(product, *share.axis);
        }
        shares.push_back(std::move(share));
    }
    return shares;
}

} // namespace retro::engine
