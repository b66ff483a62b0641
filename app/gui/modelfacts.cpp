// SPDX-License-Identifier: Apache-2.0
#include "app/gui/modelfacts.h"

#include "app/gui/embeddedsample.h"
#include "core/ops/registry.h"
#include "views/common/numbertext.h"

#include <QObject>

namespace retro::app
{

namespace
{

std::int64_t parameterBytes(const graph::Graph& graph)
{
    std::int64_t bytes = 0;
    for (const graph::Value& value : graph.values()) {
        bytes += value.kind == graph::ValueKind::Constant ? value.constant.bytes() : 0;
    }
    return bytes;
}

QString summaryOf(const engine::LoadedModel& model)
{
    const graph::Graph& graph = *model.rewritten.before;
    QStringList parts{QObject::tr("%1 nodes").arg(views::countText(static_cast<std::int64_t>(graph.nodeCount())))};
    if (model.card && !model.card->labels.empty()) {
        parts << QObject::tr("%1 classes").arg(model.card->labels.size());
    }
    parts << views::bytesText(parameterBytes(graph));
    const auto opset = graph.opsets().find("");
    if (opset != graph.opsets().end()) {
        parts << QObject::tr("ONNX %1").arg(opset->second);
    }
    return parts.join(QStringLiteral(" · "));
}

QString problemOf(const engine::LoadedModel& model)
{
    const auto missing = ops::unsupported(*model.graph());
    if (missing.empty()) {
        return {};
    }
    const auto& first = missing.front();
    return QObject::tr("%1 of its nodes cannot be run. First: %2 (%3): %4")
        .arg(missing.size())
        .arg(QString::fromStdString(model.graph()->labelOf(first.node)),
             QString::fromStdString(std::string(model.graph()->opOf(first.node))),
             QString::fromStdString(first.reason));
}

} // namespace

views::ModelFacts modelFacts(const engine::LoadedModel& model)
{
    views::ModelFacts facts;
    facts.name = QString::fromStdString(model.name);
    facts.summary = summaryOf(model);
    facts.problem = problemOf(model);
    if (model.card) {
        for (const std::string& label : model.card->labels) {
            facts.labels.append(QString::fromStdString(label));
        }
        for (const formats::CardPicture& picture : model.card->pictures) {
            facts.inputs.push_back(
                {QString::fromStdString(picture.file), QString::fromStdString(picturePath(model, picture.file))});
        }
        facts.takesPictures = model.card->inputKind == "image";
    }
    if (model.graph()->inputs().size() == 1) {
        facts.inputs.push_back({QObject::tr("random numbers"), QStringLiteral("random:1")});
        facts.inputs.push_back({QObject::tr("zeros"), QStringLiteral("zeros")});
    }
    return facts;
}

} // namespace retro::app
