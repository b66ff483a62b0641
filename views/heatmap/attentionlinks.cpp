// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/attentionlinks.h"

#include "core/graph/attributes.h"
#include "core/ops/attention/attentioncore.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"
#include "views/common/paint/theme.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

namespace retro::views
{

namespace
{

constexpr double kLeastShare = 0.03;         ///< of the largest link
constexpr std::size_t kMostLinks = 400;      ///< that are drawn
constexpr double kWidest = 9;                ///< of a stroke
constexpr std::int64_t kMostTerms = 1 << 26; ///< heads · words · words · features that are summed
constexpr int kMostMoves = 8;                ///< nodes between a softmax and the product

/// A value is what a softmax made, perhaps handed on.
bool isFromSoftmax(const graph::Graph& graph, base::ValueId value)
{
    for (int moves = 0; moves < kMostMoves && value.isValid(); ++moves) {
        const base::NodeId node = graph.nodeOf(value);
        if (!node.isValid() || graph.isInput(node)) {
            return false;
        }
        const graph::Node& one = graph.node(node);
        if (one.op == "Softmax") {
            return true;
        }
        const bool isChoice = ops::areElements(one, {ops::Elements::Chosen}) && one.inputs.size() > 1;
        const bool masks = isChoice || ops::areElements(one, {ops::Elements::Multiplied});
        if ((!masks && !ops::keepsElements(one)) || one.inputs.empty()) {
            return false;
        }
        value = one.inputs[isChoice ? 1 : 0];
    }
    return false;
}

/// Heads of weights over `words` words: [1, heads, words, words] or fewer axes at the front; 0 for other shapes.
std::int64_t headsOf(const tensor::Shape& shape, std::size_t words)
{
    const auto count = static_cast<std::int64_t>(words);
    if (shape.size() < 2 || shape.size() > 4 || shape[shape.size() - 1] != count || shape[shape.size() - 2] != count) {
        return 0;
    }
    return shape.size() == 2 ? 1 : shape.size() == 3 ? shape[0] : shape[0] == 1 ? shape[1] : 0;
}

double numberOf(const graph::Node& node, std::string_view name, double otherwise)
{
    const auto* whole = graph::attributeOf<std::int64_t>(node, name);
    return whole != nullptr ? static_cast<double>(*whole) : graph::floatAttribute(node, name, otherwise);
}

/// An attention in one node, of queries, keys and values alone: 1 × heads × words × features each.
std::optional<AttentionPlace> fusedPlace(const RunModel& model, base::NodeId id, std::size_t words)
{
    const graph::Graph& graph = model.graph();
    const graph::Node& node = graph.node(id);
    const auto isGiven = [&](std::size_t slot) { return slot < node.inputs.size() && node.inputs[slot].isValid(); };
    const bool isPlain = ops::isAttention(node) && isGiven(0) && isGiven(1) && isGiven(2) && !isGiven(3) &&
                         !isGiven(4) && !isGiven(5) && !isGiven(6);
    if (!isPlain) {
        return std::nullopt;
    }
    const auto& shapes = model.run().shapes;
    const tensor::Shape& first = shapes[node.inputs[0].index()];
    const auto isByHead = [&](std::size_t slot) {
        const tensor::Shape& shape = shapes[node.inputs[slot].index()];
        return shape.size() == 4 && shape[0] == 1 && shape[1] == first[1] &&
               shape[2] == static_cast<std::int64_t>(words);
    };
    if (first.size() != 4 || !isByHead(0) || !isByHead(1) || !isByHead(2)) {
        return std::nullopt;
    }
    return AttentionPlace{id, {}, node.inputs[2], graph.outputsOf(id)[0], first[1], model.placeLabel(id)};
}

/// The weights of an attention in one node, of its forward values; invalid where they were not kept.
tensor::Tensor fusedWeights(const RunModel& model, const AttentionPlace& place)
{
    const graph::Node& node = model.graph().node(place.node);
    const tensor::Tensor* q = model.forwardValue(node.inputs[0]);
    const tensor::Tensor* k = model.forwardValue(node.inputs[1]);
    const tensor::Tensor* v = model.forwardValue(node.inputs[2]);
    if (q == nullptr || k == nullptr || v == nullptr || q->rank() != 4 || k->rank() != 4 || v->rank() != 4) {
        return {};
    }
    const tensor::Shape& of = q->shape();
    const tensor::Shape& other = v->shape();
    const bool isFitting = of[0] == 1 && of[1] == place.heads && k->shape() == of &&
                           std::equal(other.begin(), other.begin() + 3, of.begin());
    if (!isFitting || of[1] * of[2] * of[2] * std::max(of[3], other[3]) > kMostTerms) {
        return {}; // attentionLinks() leaves as many terms out
    }
    ops::AttentionForm form;
    form.batch = 1;
    form.heads = form.keyHeads = q->shape()[1];
    form.queries = q->shape()[2];
    form.keys = k->shape()[2];
    form.width = q->shape()[3];
    form.valueWidth = v->shape()[3];
    const double scale = numberOf(node, "scale", 0);
    form.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(form.width));
    form.softcap = numberOf(node, "softcap", 0);
    form.isCausal = numberOf(node, "is_causal", 0) != 0;
    const auto asDouble = [](const tensor::Tensor& t) { return t.to(tensor::DType::Float64).contiguous(); };
    return ops::attend(form, asDouble(*q), asDouble(*k), asDouble(*v), {}).probabilities;
}

/// The relevance that one word of a head sends back to every word: `sums` grows by it. `row` are the weights of the
/// word, `values` the values of the head, word after word, and `relevance` is what arrived at the word. `result` is
/// room for the word's features.
void addSentBack(const double* row, const double* values, const double* relevance, std::vector<double>& result,
                 std::span<double> sums)
{
    const std::size_t features = result.size();
    std::ranges::fill(result, 0);
    for (std::size_t j = 0; j < sums.size(); ++j) {
        const double* value = values + j * features;
        for (std::size_t d = 0; d < features; ++d) {
            result[d] += row[j] * value[d];
        }
    }
    for (std::size_t j = 0; j < sums.size(); ++j) {
        const double* value = values + j * features;
        double sum = 0;
        for (std::size_t d = 0; d < features; ++d) {
            const double z = result[d];
            sum += z == 0 ? 0 : row[j] * value[d] / z * relevance[d];
        }
        sums[j] += sum;
    }
}

/// The links that carry something, from words × words sums; the largest first.
std::vector<AttentionLink> linksOf(const std::vector<double>& sums, std::size_t words)
{
    std::vector<AttentionLink> links;
    for (std::size_t i = 0; i < words; ++i) {
        for (std::size_t j = 0; j < words; ++j) {
            const double sum = sums[i * words + j];
            if (sum != 0 && std::isfinite(sum)) {
                links.push_back({i, j, sum});
            }
        }
    }
    std::ranges::stable_sort(links, [](const AttentionLink& one, const AttentionLink& other) {
        return std::abs(one.relevance) > std::abs(other.relevance);
    });
    return links;
}

} // namespace

std::vector<AttentionPlace> attentionsOf(const RunModel& model, std::size_t words)
{
    std::vector<AttentionPlace> places;
    const graph::Graph& graph = model.graph();
    const auto& shapes = model.run().shapes;
    for (std::size_t i = 0; i < graph.nodeCount() && words > 1 && !shapes.empty(); ++i) {
        const base::NodeId id(i);
        const graph::Node& node = graph.node(id);
        if (auto fused = fusedPlace(model, id, words)) {
            places.push_back(*std::move(fused));
            continue;
        }
        if (node.op != "MatMul" || node.inputs.size() < 2 || !node.inputs[0].isValid() || !node.inputs[1].isValid()) {
            continue;
        }
        const base::ValueId result = graph.outputsOf(id)[0];
        const tensor::Shape& weights = shapes[node.inputs[0].index()];
        const tensor::Shape& values = shapes[node.inputs[1].index()];
        const std::int64_t heads = headsOf(weights, words);
        const bool fits = heads > 0 && values.size() == weights.size() && values.size() >= 2 &&
                          values[values.size() - 2] == static_cast<std::int64_t>(words) &&
                          std::equal(values.begin(), values.end() - 2, weights.begin());
        if (fits && isFromSoftmax(graph, node.inputs[0])) {
            places.push_back({id, node.inputs[0], node.inputs[1], result, heads, model.placeLabel(id)});
        }
    }
    return places;
}

std::vector<AttentionLink> attentionLinks(const RunModel& model, const AttentionPlace& place, std::int64_t head)
{
    const bool isFused = !place.weights.isValid();
    const tensor::Tensor made = isFused ? fusedWeights(model, place) : tensor::Tensor();
    const tensor::Tensor* weights = isFused ? &made : model.forwardValue(place.weights);
    const tensor::Tensor* values = model.forwardValue(place.values);
    const tensor::Tensor* arrived = model.tensor(model.relevanceHandle(place.result));
    if (weights == nullptr || values == nullptr || arrived == nullptr || !weights->isValid() || weights->rank() < 2) {
        return {};
    }
    const std::int64_t words = weights->shape().back();
    const std::int64_t features = values->shape().back();
    if (arrived->size() != place.heads * words * features || place.heads * words * words * features > kMostTerms) {
        return {};
    }
    const tensor::Tensor a = weights->to(tensor::DType::Float64).contiguous();
    const tensor::Tensor v = values->to(tensor::DType::Float64).contiguous();
    const tensor::Tensor r = arrived->to(tensor::DType::Float64).contiguous();
    const auto aOf = a.span<double>();
    const auto vOf = v.span<double>();
    const auto rOf = r.span<double>();
    std::vector<double> sums(static_cast<std::size_t>(words * words), 0);
    std::vector<double> result(static_cast<std::size_t>(features));
    for (std::int64_t h = head < 0 ? 0 : head; h < (head < 0 ? place.heads : std::min(head + 1, place.heads)); ++h) {
        for (std::int64_t i = 0; i < words; ++i) {
            const std::int64_t word = h * words + i;
            addSentBack(aOf.data() + word * words, vOf.data() + h * words * features, rOf.data() + word * features,
                        result,
                        std::span(sums).subspan(static_cast<std::size_t>(i * words), static_cast<std::size_t>(words)));
        }
    }
    return linksOf(sums, static_cast<std::size_t>(words));
}

void paintLinks(QPainter& painter, const std::vector<AttentionLink>& links, const QRectF& room,
                const std::function<double(std::size_t)>& columnOf, const ColorMap& map, const Theme& theme)
{
    if (links.empty() || room.isEmpty()) {
        return;
    }
    const double largest = std::abs(links.front().relevance);
    std::size_t count = 0;
    while (count < std::min(links.size(), kMostLinks) && std::abs(links[count].relevance) >= kLeastShare * largest) {
        ++count;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setClipRect(room);
    painter.setBrush(Qt::NoBrush);
    for (std::size_t i = count; i-- > 0;) { // the largest on top
        const AttentionLink& link = links[i];
        const double share = std::abs(link.relevance) / largest;
        QColor color = QColor::fromRgb(map.at((link.relevance < 0 ? -1 : 1) * (0.35 + 0.55 * share)));
        color.setAlphaF(0.35F + 0.65F * static_cast<float>(share));
        painter.setPen(QPen(color, std::max(0.8, kWidest * share), Qt::SolidLine, Qt::FlatCap));
        const QPointF from(columnOf(link.reader), room.top());
        const QPointF to(columnOf(link.source), room.bottom());
        const double bend = room.height() * 0.5;
        QPainterPath path(from);
        path.cubicTo(from + QPointF(0, bend), to - QPointF(0, bend), to);
        painter.drawPath(path);
    }
    painter.restore();
    painter.setPen(QPen(theme[Role::Line], 1));
    painter.drawLine(room.topLeft(), room.topRight());
    painter.drawLine(room.bottomLeft(), room.bottomRight());
}

} // namespace retro::views
