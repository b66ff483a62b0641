// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/attentionlinks.h"

#include "core/base/cancel.h"
#include "core/engine/model/binding.h"
#include "core/lrp/rules/decomposedrule.h"
#include "core/ops/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace retro::engine
{

using base::NodeId;
using base::Result;
using base::ValueId;
using execute::BoundModel;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace
{

/// An attention at work, batch × heads × … each: probabilities, values, and what they were mixed to.
struct Mixing
{
    Tensor probabilities; ///< … queries × keys
    Tensor values;        ///< … keys × width
    Tensor mixed;         ///< … queries × width
};

base::Error cannotLink(const std::string& label)
{
    return base::inputError("its probabilities and values are not of batch × heads × tokens × width, so no map of this "
                            "attention can be made",
                            fmt::format("node {}", label));
}

/// One matrix of a tensor of four axes as float64; heads that are one for all are found for each.
class HeadMatrices
{
public:
    explicit HeadMatrices(const Tensor& all) : m_all(all.to(DType::Float64).contiguous()) {}
    [[nodiscard]] const double* of(std::int64_t head) const
    {
        const Shape& shape = m_all.shape();
        return m_all.data<double>() + (head % shape[1]) * shape[2] * shape[3];
    }
    [[nodiscard]] const Shape& shape() const { return m_all.shape(); }

private:
    Tensor m_all;
};

class LinkFinder
{
public:
    LinkFinder(const ExplainRequest& request, const ExplainResult& result, std::stop_token stop,
               const RemadeValues* remade)
        : m_request(request), m_result(result), m_stop(std::move(stop))
    {
        if (remade != nullptr && remade->model == result.model) {
            m_again = remade->forward;
        }
    }

    [[nodiscard]] const std::optional<execute::ForwardResult>& again() const { return m_again; }

    /// Has every value that the nodes read at hand.
    Result<void> fetch(const std::vector<HeadValues>& heads)
    {
        std::vector<ValueId> missing;
        for (const HeadValues& one : heads) {
            const NodeId node = graph().nodeOf(one.value);
            for (const ValueId operand : graph().node(node).inputs) {
                const bool isNeeded = operand.isValid() && !model().isConstant(operand) && !held(operand).isValid();
                if (isNeeded) {
                    missing.push_back(operand);
                }
            }
            if (!held(one.value).isValid()) {
                missing.push_back(one.value);
            }
        }
        if (!missing.empty()) {
            RETRO_TRY(m_again,
                      execute::forward(m_result.model, inPrecision(graph(), m_request.inputs, m_request.precision),
                                       execute::SavePolicy::Nothing, m_stop, {}, missing));
        }
        return {};
    }

    Result<Tensor> map(const HeadValues& heads) const
    {
        const NodeId node = graph().nodeOf(heads.value);
        const bool isMixing = model().op(node).structure().kind() == ops::StructureKind::Bilinear;
        RETRO_TRY(Mixing mixing, isMixing ? Result<Mixing>(mixingOf(node)) : openedMixing(node));
        if (isMixing && heads.isByHead && mixing.mixed.isValid() && mixing.mixed.rank() == 3) {
            const std::int64_t batches = mixing.mixed.shape()[0];
            for (Tensor* const part : {&mixing.probabilities, &mixing.values, &mixing.mixed}) {
                const bool isOfAll = part->isValid() && part->rank() == 3 && part->shape()[0] == batches;
                *part = isOfAll ? part->contiguous().reshaped(shapeByHead(part->shape(), heads.heads)) : Tensor();
            }
        }
        const auto isByHead = [](const Tensor& t) { return t.isValid() && t.rank() == 4; };
        if (!isByHead(mixing.probabilities) || !isByHead(mixing.values) || !isByHead(mixing.mixed)) {
            return cannotLink(graph().labelOf(node));
        }
        return mapOf(mixing, arrivedByHead(heads, mixing.mixed.shape()));
    }

private:
    [[nodiscard]] const BoundModel& model() const { return *m_result.model; }
    [[nodiscard]] const graph::Graph& graph() const { return m_result.model->graph(); }

    /// A value as the explanation or the second pass kept it.
    [[nodiscard]] Tensor held(ValueId value) const
    {
        if (model().isConstant(value)) {
            return model().constant(value);
        }
        if (m_again && m_again->saved.anyValue(value).isValid()) {
            return m_again->saved.anyValue(value);
        }
        if (m_result.run && value.index() < m_result.run->values.size() &&
            m_result.run->values[value.index()].isValid()) {
            return m_result.run->values[value.index()];
        }
        return m_result.forward ? m_result.forward->saved.anyValue(value) : Tensor();
    }

    [[nodiscard]] Mixing mixingOf(NodeId node) const
    {
        const graph::Node& product = graph().node(node);
        return {held(product.inputs[0]), held(product.inputs[1]), held(product.outputs.front())};
    }

    /// Of an attention in one node: its steps are run on its operands.
    [[nodiscard]] Result<Mixing> openedMixing(NodeId id) const
    {
        RETRO_TRY(auto body,
                  base::within(lrp::bodyOf(model(), id), fmt::format("inside node {}", graph().labelOf(id))));
        std::vector<Tensor> operands;
        std::vector<ops::TensorType> types;
        for (const std::size_t slot : body.operands) {
            operands.push_back(held(graph().node(id).inputs[slot]));
            base::guard(operands.back().isValid(), "the operands of an attention were fetched");
            types.push_back({operands.back().dtype(), operands.back().shape()});
        }
        RETRO_TRY(const std::shared_ptr<const BoundModel> bound,
                  BoundModel::bind(body.graph, types, execute::insideOf(m_request.precision)));
        const std::optional<NodeId> mixing = mixingNode(*bound);
        if (!mixing) {
            return cannotLink(graph().labelOf(id));
        }
        const graph::Node& product = bound->graph().node(*mixing);
        const std::vector<ValueId> kept{product.inputs[0], product.inputs[1], product.outputs.front()};
        RETRO_TRY(const execute::ForwardResult made,
                  execute::forward(bound, operands, execute::SavePolicy::Nothing, m_stop, {}, kept));
        return Mixing{made.saved.anyValue(kept[0]), made.saved.anyValue(kept[1]), made.saved.anyValue(kept[2])};
    }

    /// What arrived at the mixed values, heads × queries × width of row 0; invalid where nothing did.
    [[nodiscard]] Tensor arrivedByHead(const HeadValues& heads, const Shape& mixed) const
    {
        const Tensor own =
            heads.value.index() < m_result.relevance.size() ? m_result.relevance[heads.value.index()] : Tensor();
        if (!own.isValid()) {
            return {};
        }
        Tensor all = own.to(DType::Float64).contiguous();
        all = heads.isByHead ? all.reshaped(shapeByHead(all.shape(), heads.heads)) : all;
        const bool fits =
            heads.isByHead ? all.shape() == mixed : all.shape() == Shape{mixed[0], mixed[2], mixed[1] * mixed[3]};
        base::guard(fits, "the relevance of an attention has the shape of its result");
        constexpr std::int64_t kByHead[] = {0, 2, 1, 3};
        return heads.isByHead ? all
                              : all.reshaped({mixed[0], mixed[2], mixed[1], mixed[3]}).permuted(kByHead).contiguous();
    }

    /// r / y of one query, over the width of the head; 0 where y is 0. False where all are 0.
    static bool takeShares(const double* r, const double* y, std::vector<double>& share)
    {
        for (std::size_t d = 0; d < share.size(); ++d) {
            share[d] = y[d] == 0 ? 0 : r[d] / y[d];
        }
        return !std::ranges::all_of(share, [](double s) { return s == 0; });
    }

    /// The links of one query to `keys` keys: p · Σ v · share.
    static void linkQuery(const double* p, const double* v, std::int64_t keys, const std::vector<double>& share,
                          double* out)
    {
        const auto width = std::ssize(share);
        for (std::int64_t key = 0; key < keys; ++key, v += width) {
            if (p[key] != 0) {
                out[key] = p[key] * std::inner_product(v, v + width, share.data(), 0.0);
            }
        }
    }

    [[nodiscard]] Result<Tensor> mapOf(const Mixing& mixing, const Tensor& arrived) const
    {
        const Shape shape = mixing.mixed.shape();
        const std::int64_t queries = shape[2];
        const std::int64_t width = shape[3];
        const std::int64_t keys = mixing.values.shape()[2];
        const std::int64_t past = std::max<std::int64_t>(keys - queries, 0);
        tensor::TensorBuffer map(DType::Float64, {shape[1], queries, queries});
        map.clear();
        if (!arrived.isValid()) {
            return std::move(map).freeze();
        }
        const HeadMatrices probabilities(mixing.probabilities);
        const HeadMatrices values(mixing.values);
        const HeadMatrices mixed(mixing.mixed);
        base::guard(probabilities.shape()[2] == queries && probabilities.shape()[3] == keys &&
                        values.shape()[3] == width && keys <= queries + past,
                    "the parts of an attention fit together");
        const HeadMatrices relevance(arrived);
        double* const out = map.data<double>();
        ops::parallelFor(shape[1] * queries, 1, [&](std::int64_t begin, std::int64_t end) {
            std::vector<double> share(static_cast<std::size_t>(width));
            for (std::int64_t line = begin; line < end && !m_stop.stop_requested(); ++line) {
                const std::int64_t head = line / queries;
                const std::int64_t query = line % queries;
                if (takeShares(relevance.of(head) + query * width, mixed.of(head) + query * width, share)) {
                    linkQuery(probabilities.of(head) + query * keys + past, values.of(head) + past * width, keys - past,
                              share, out + line * queries);
                }
            }
        });
        RETRO_CHECK(base::checkStop(m_stop));
        return std::move(map).freeze();
    }

    const ExplainRequest& m_request;
    const ExplainResult& m_result;
    std::stop_token m_stop;
    std::optional<execute::ForwardResult> m_again;
};

} // namespace

double attentionNumbers(const ResidualStreams& streams, const BoundModel& model)
{
    double numbers = 0;
    for (const HeadValues& one : streams.heads) {
        const Shape& shape = model.typeOf(one.value).shape;
        const auto tokens = static_cast<double>(one.isByHead ? shape[shape.size() - 2] : shape[1]);
        numbers += static_cast<double>(one.heads) * tokens * tokens;
    }
    return numbers;
}

Result<void> attentionMaps(const ResidualStreams& streams, const ExplainRequest& request, const ExplainResult& result,
                           std::span<const std::size_t> layers, const TakeAttention& take, const std::stop_token& stop,
                           RemadeValues* remade)
{
    std::vector<std::size_t> asked(layers.begin(), layers.end());
    if (asked.empty()) {
        asked.resize(streams.heads.size());
        std::iota(asked.begin(), asked.end(), std::size_t{0});
    }
    std::vector<HeadValues> heads;
    for (const std::size_t layer : asked) {
        if (layer >= streams.heads.size()) {
            return base::usageError(fmt::format("there is no layer {}; the model has the layers 0 to {}", layer,
                                                static_cast<std::int64_t>(streams.heads.size()) - 1),
                                    "--attention");
        }
        heads.push_back(streams.heads[layer]);
        if (result.model->graph().isInput(result.model->graph().nodeOf(heads.back().value))) {
            return cannotLink(result.model->graph().value(heads.back().value).name);
        }
    }
    LinkFinder finder(request, result, stop, remade);
    RETRO_CHECK(finder.fetch(heads));
    if (remade != nullptr) {
        *remade = {result.model, finder.again()};
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
        RETRO_CHECK(base::checkStop(stop));
        RETRO_TRY(const Tensor map, finder.map(heads[i]));
        RETRO_CHECK(take(asked[i], map));
    }
    return {};
}

void addLinks(std::size_t layer, const Tensor& map, std::size_t most, std::vector<trace::TextLink>& links)
{
    const Shape& shape = map.shape();
    const std::span<const double> all = map.span<double>();
    std::vector<std::int64_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i] != 0 && std::isfinite(all[i])) {
            places.push_back(static_cast<std::int64_t>(i));
        }
    }
    const auto isLarger = [&](std::int64_t a, std::int64_t b) {
        const double left = std::abs(all[static_cast<std::size_t>(a)]);
        const double right = std::abs(all[static_cast<std::size_t>(b)]);
        return left > right || (left == right && a < b);
    };
    const std::size_t kept = std::min(most, places.size());
    std::partial_sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(kept), places.end(), isLarger);
    places.resize(kept);
    for (const std::int64_t place : places) {
        const std::int64_t line = place / shape[2];
        links.push_back({static_cast<std::int32_t>(layer), static_cast<std::int32_t>(line / shape[1]),
                         static_cast<std::int32_t>(line % shape[1]), static_cast<std::int32_t>(place % shape[2]),
                         all[static_cast<std::size_t>(place)]});
    }
}

} // namespace retro::engine
