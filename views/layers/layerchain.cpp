// SPDX-License-Identifier: Apache-2.0
#include "views/layers/layerchain.h"

#include "core/trace/meantrelevance.h"
#include "views/common/run/gradientnote.h"

#include <QCoreApplication>
#include <QRegularExpression>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

QString translated(const char* text) { return QCoreApplication::translate("retro::views::LayersView", text); }

// Nodes with relevance of their own in this run, last of the network first.
std::vector<base::NodeId> carriers(const RunModel& model)
{
    std::vector<base::NodeId> nodes;
    for (std::size_t i = model.graph().nodeCount(); i-- > 0;) {
        if (model.relevanceStep(base::NodeId(i))) {
            nodes.push_back(base::NodeId(i));
        }
    }
    return nodes;
}

// Counts, while walking from the target to the input, the values that have been asked for and not produced yet: where
// that is one value alone, all relevance passes it.
class OpenValues
{
public:
    explicit OpenValues(const RunModel& model) : m_model(model), m_isOpen(model.graph().valueCount(), false) {}

    void close(base::NodeId node)
    {
        for (const base::ValueId output : m_model.graph().outputsOf(node)) {
            if (output.isValid() && m_isOpen[output.index()]) {
                m_isOpen[output.index()] = false;
                --m_count;
            }
        }
    }
    void openInputsOf(base::NodeId node)
    {
        for (const base::ValueId input : m_model.graph().node(node).inputs) {
            const bool carries = input.isValid() && m_model.graph().nodeOf(input).isValid() &&
                                 m_model.relevanceStep(m_model.graph().nodeOf(input)).has_value();
            if (carries && !m_isOpen[input.index()]) {
                m_isOpen[input.index()] = true;
                ++m_count;
            }
        }
    }
    [[nodiscard]] int count() const { return m_count; }

private:
    const RunModel& m_model;
    std::vector<bool> m_isOpen;
    int m_count = 0;
};

std::vector<base::NodeId> separators(const RunModel& model)
{
    std::vector<base::NodeId> found;
    OpenValues open(model);
    for (const base::NodeId node : carriers(model)) {
        open.close(node);
        if (open.count() == 0) {
            found.push_back(node);
        }
        open.openInputsOf(node);
    }
    return found;
}

QString scopeOf(const RunModel& model, base::NodeId node)
{
    const std::string_view scope = model.graph().scopeOf(node);
    return QString::fromUtf8(scope.data(), static_cast<qsizetype>(scope.size()));
}

QString topScope(const RunModel& model, base::NodeId node)
{
    return scopeOf(model, node).section(QLatin1Char('/'), 0, 0, QString::SectionSkipEmpty);
}

// One node per top scope: the one that arrives first, which stands for what the whole group is given.
std::vector<base::NodeId> onePerScope(const RunModel& model, const std::vector<base::NodeId>& nodes)
{
    std::vector<base::NodeId> kept;
    QString last;
    for (const base::NodeId node : nodes) {
        const QString scope = topScope(model, node);
        if (kept.empty() || scope.isEmpty() || scope != last) {
            kept.push_back(node);
        }
        last = scope;
    }
    return kept;
}

// Without scopes: nodes whose shape differs from the one before.
std::vector<base::NodeId> onePerShape(const RunModel& model, const std::vector<base::NodeId>& nodes)
{
    std::vector<base::NodeId> kept;
    QString last;
    for (const base::NodeId node : nodes) {
        const QString shape = model.shapeText(model.graph().firstOutput(node));
        if (kept.empty() || shape != last) {
            kept.push_back(node);
        }
        last = shape;
    }
    return kept;
}

std::vector<base::NodeId> grouped(const RunModel& model, const std::vector<base::NodeId>& all)
{
    const bool hasScopes =
        std::any_of(all.begin(), all.end(), [&](base::NodeId node) { return !topScope(model, node).isEmpty(); });
    return hasScopes ? onePerScope(model, all) : onePerShape(model, all);
}

base::HandleId finalRelevance(const RunModel& model, base::NodeId node)
{
    const auto step = model.relevanceStep(node);
    return step ? base::HandleId(model.run().events[*step - 1].handle) : base::HandleId();
}

/// A past without tokens has relevance without elements: there is nothing to see of it.
bool hasElements(const RunModel& model, base::HandleId handle)
{
    return !handle.isValid() || handle.index() >= model.run().handles.size() ||
           model.run().handles[handle.index()].bytes > 0;
}

std::vector<base::ValueId> reachedInputs(const RunModel& model)
{
    std::vector<base::ValueId> inputs;
    for (const base::ValueId input : model.graph().inputs()) {
        const base::NodeId node = model.graph().inputNode(input);
        if (model.relevanceStep(node) && hasElements(model, finalRelevance(model, node))) {
            inputs.push_back(input);
        }
    }
    std::ranges::stable_sort(inputs, {}, [&](base::ValueId input) { // as relevance comes to them
        return model.relevanceStep(model.graph().inputNode(input)).value_or(0);
    });
    return inputs;
}

std::vector<base::NodeId> thinned(const std::vector<base::NodeId>& nodes, std::size_t most)
{
    if (nodes.size() <= most) {
        return nodes;
    }
    std::vector<base::NodeId> kept;
    for (std::size_t i = 0; i < most; ++i) {
        kept.push_back(nodes[i * (nodes.size() - 1) / (most - 1)]);
    }
    return kept;
}

Layer makeLayer(const RunModel& model, base::NodeId node, const QString& name)
{
    Layer layer;
    layer.node = node;
    layer.value = model.graph().firstOutput(node);
    layer.name = name;
    layer.position = model.relevanceStep(node).value_or(0);
    layer.relevance = finalRelevance(model, node);
    return layer;
}

double sumAbsolute(const tensor::Tensor& tensor)
{
    double sum = 0;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        sum += std::abs(tensor.at(i));
    }
    return sum;
}

void fillMagnitudes(const RunModel& model, std::vector<Layer>& layers)
{
    for (Layer& layer : layers) {
        const tensor::Tensor tensor = layerTensor(model, layer);
        layer.magnitude = tensor.isValid() ? sumAbsolute(tensor.contiguous()) : 0;
    }
}

void fillShares(const RunModel& model, std::vector<Layer>& layers)
{
    if (model.derived<GradientNote>()->isGradient) {
        return fillMagnitudes(model, layers);
    }
    const auto sumOf = [&model](const Layer& layer) {
        return trace::meantSum(model.run(), layer.value, layer.relevance);
    };
    const double started = layers.empty() ? 0 : sumOf(layers.front());
    for (Layer& layer : layers) {
        layer.share = started != 0 ? sumOf(layer) / started : 0;
    }
}

} // namespace

tensor::Tensor layerTensor(const RunModel& model, const Layer& layer)
{
    const tensor::Tensor* relevance = model.relevance(layer.value, layer.relevance);
    return relevance == nullptr ? tensor::Tensor() : *relevance;
}

QString layerName(const QString& scope, const QString& node)
{
    QString text = scope.section(QLatin1Char('/'), 0, 0, QString::SectionSkipEmpty);
    if (text.isEmpty()) {
        text = node.section(QLatin1Char('/'), -1, -1, QString::SectionSkipEmpty);
    }
    static const QRegularExpression numbered(QStringLiteral("^([A-Za-z]+)[._]?(\\d+)$"));
    const QRegularExpressionMatch match = numbered.match(text);
    if (match.hasMatch()) {
        text = match.captured(1) + QLatin1Char(' ') + match.captured(2);
    }
    if (!text.isEmpty()) {
        text[0] = text[0].toUpper();
    }
    return text;
}

std::vector<Layer> layerChain(const RunModel& model, std::size_t most)
{
    const std::vector<base::ValueId> inputs = reachedInputs(model);
    const std::size_t room = most > inputs.size() + 1 ? most - inputs.size() : 2;
    std::vector<Layer> layers;
    for (const base::NodeId node : thinned(grouped(model, separators(model)), room)) {
        const bool isTarget = model.graph().nodeOf(model.run().facts.targetValue) == node;
        const QString name = isTarget ? translated("Class scores") : layerName(scopeOf(model, node), model.label(node));
        layers.push_back(makeLayer(model, node, name));
    }
    for (const base::ValueId input : inputs) {
        const QString name = inputs.size() == 1 ? translated("Input") : model.label(input);
        layers.push_back(makeLayer(model, model.graph().inputNode(input), name));
    }
    fillShares(model, layers);
    return layers;
}

} // namespace retro::views
