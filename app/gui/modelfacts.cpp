// SPDX-License-Identifier: Apache-2.0
#include "app/gui/modelfacts.h"

#include "app/gui/embeddedsample.h"
#include "app/gui/questioncheck.h"
#include "views/common/numbertext.h"

#include <QDir>
#include <QFileInfo>
#include <QObject>

#include <algorithm>

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
        parts << QObject::tr("ONNX\u00a0%1").arg(opset->second);
    }
    return parts.join(QStringLiteral(" · "));
}

/// One input with four axes: a picture may become it.
bool takesPictures(const graph::Graph& graph)
{
    const auto inputs = graph.inputs();
    return inputs.size() == 1 && graph.value(inputs[0]).shape && graph.value(inputs[0]).shape->size() == 4;
}

/// Every value that an operator computes, by name.
QStringList valueNames(const graph::Graph& graph)
{
    QStringList names;
    for (const graph::Value& value : graph.values()) {
        if (value.kind != graph::ValueKind::Constant && !value.name.empty()) {
            names << QString::fromStdString(value.name);
        }
    }
    return names;
}

/// Where a model of that name lies: beside the run, or among the files that are known; empty = nowhere.
QString modelOf(const QString& name, const QString& runFile, const QStringList& known)
{
    QStringList places{QFileInfo(runFile).dir().filePath(name)};
    for (const QString& file : known) {
        if (QFileInfo(file).fileName() == name) {
            places << file;
        }
    }
    const auto found = std::find_if(places.begin(), places.end(), [](const QString& path) {
        return path.endsWith(QStringLiteral(".onnx"), Qt::CaseInsensitive) && QFileInfo(path).isFile();
    });
    return found == places.end() ? QString() : *found;
}

} // namespace

views::Question recordedQuestion(const trace::Run& run)
{
    const auto& index = run.facts.targetIndex;
    views::Question question;
    question.target = index.empty() ? QStringLiteral("argmax") : QString::number(index.front());
    question.start = QString::fromStdString(run.facts.start);
    question.composite = QString::fromStdString(run.facts.composite);
    return question;
}

views::ModelFacts recordedFacts(const trace::Run& run, const QString& file, const QStringList& known)
{
    views::ModelFacts facts;
    facts.isRecorded = true;
    facts.name = QFileInfo(QString::fromStdString(run.facts.modelName)).fileName();
    facts.reopen = modelOf(facts.name, file, known);
    for (const std::string& label : run.facts.labels) {
        facts.labels.append(QString::fromStdString(label));
    }
    return facts;
}

views::ModelFacts modelFacts(const engine::LoadedModel& model)
{
    views::ModelFacts facts;
    facts.name = QString::fromStdString(model.name);
    facts.summary = summaryOf(model);
    facts.problem = unsupportedText(*model.graph());
    facts.values = valueNames(*model.graph());
    facts.preparation = preparationOf(engine::pictureOptions(model.card ? &*model.card : nullptr));
    if (model.card) {
        for (const std::string& label : model.card->labels) {
            facts.labels.append(QString::fromStdString(label));
        }
        for (const formats::CardPicture& picture : model.card->pictures) {
            facts.inputs.push_back(
                {QString::fromStdString(picture.file), QString::fromStdString(picturePath(model, picture.file))});
        }
    }
    facts.takesPictures = model.card ? model.card->inputKind == "image" : takesPictures(*model.graph());
    if (model.graph()->inputs().size() == 1) {
        facts.inputs.push_back({QObject::tr("random numbers"), QStringLiteral("random:1")});
        facts.inputs.push_back({QObject::tr("zeros"), QStringLiteral("zeros")});
    }
    return facts;
}

} // namespace retro::app
