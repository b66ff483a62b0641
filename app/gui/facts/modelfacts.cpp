// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/modelfacts.h"

#include "app/gui/controllers/rulecontroller.h"

#include "app/gui/embeddedsample.h"
#include "app/gui/facts/questioncheck.h"
#include "core/engine/diagnose.h"
#include "core/engine/forwarding/loopsegments.h"
#include "core/engine/language/languagemodel.h"
#include "core/engine/lut/lutdecisions.h"
#include "core/engine/model/runnablepart.h"
#include "core/engine/plan/planning.h"
#include "core/engine/question/resolve.h"
#include "core/engine/results/runfacts.h"
#include "core/formats/modelfile.h"
#include "core/graph/insides.h"
#include "core/graph/placeholder.h"
#include "core/ops/registry.h"
#include "core/trace/targetplace.h"
#include "views/common/numbertext.h"
#include "views/common/stringlist.h"

#include <QFileInfo>
#include <QObject>

#include <algorithm>
#include <map>

namespace retro::app
{

namespace
{

std::int64_t parameterBytes(const graph::Graph& graph)
{
    std::int64_t bytes = 0;
    const auto add = [&bytes](const graph::Graph& one) {
        for (const graph::Value& value : one.values()) {
            bytes += value.kind == graph::ValueKind::Constant && value.constant.isValid() ? value.constant.bytes() : 0;
        }
    };
    add(graph);
    graph::forEachInside(graph, add);
    return bytes;
}

std::int64_t nodesInside(const graph::Graph& graph)
{
    std::int64_t count = 0;
    graph::forEachInside(graph,
                         [&count](const graph::Graph& one) { count += static_cast<std::int64_t>(one.nodeCount()); });
    return count;
}

QString summaryOf(const engine::LoadedModel& model)
{
    const graph::Graph& graph = *model.rewritten.before;
    // What the file holds differs from what runs: both are said, the second as every view counts it.
    const auto inFile = static_cast<std::int64_t>(graph.nodeCount());
    const auto running = static_cast<std::int64_t>(model.rewritten.graph->runNodeCount());
    const QString all = inFile == 1 ? QObject::tr("1 node") : QObject::tr("%1 nodes").arg(views::countText(inFile));
    QStringList parts{running == inFile ? all : QObject::tr("%1, %2 run").arg(all, views::countText(running))};
    if (const std::int64_t inside = nodesInside(graph); inside > 0) {
        parts << QObject::tr("%1 inside").arg(views::countText(inside));
    }
    if (model.card && !model.card->labels.empty()) {
        parts << QObject::tr("%1 classes").arg(model.card->labels.size());
    }
    parts << views::bytesText(parameterBytes(graph));
    if (graph.opset() > 0) {
        parts << QObject::tr("ONNX\u00a0%1").arg(graph.opset());
    }
    const auto passed = std::ranges::count(model.rewritten.graph->nodes(), "PassThrough", &graph::Node::op);
    const QString summary = parts.join(QStringLiteral(" · "));
    return passed == 0 ? summary
                       : summary + QLatin1Char('\n') +
                             QObject::tr("Passed through, neither computed nor conserved: %1 of its nodes").arg(passed);
}

/// "N×3×?×?", or "?" where nothing is known. `isFree` becomes true there, and where an axis is free; a free first axis
/// is the batch, and nobody is asked.
QString shapeText(const graph::Value& value, bool& isFree)
{
    if (!value.shape) {
        isFree = true;
        return QStringLiteral("?");
    }
    QStringList extents;
    for (const graph::Dimension& dimension : *value.shape) {
        const bool isKnown = dimension.extent.value_or(0) != 0;
        isFree = isFree || (!isKnown && !extents.isEmpty());
        const std::string symbol = graph::isPlaceholder(dimension.symbol) ? "?" : dimension.symbol;
        extents << QString::fromStdString(isKnown ? std::to_string(*dimension.extent) : symbol);
    }
    return extents.join(QChar(0xd7));
}

/// "N×3×?×?" of one input, "x=N×3, y=?" of several; empty where no axis but the first one is free.
QString shapeHintOf(const graph::Graph& graph)
{
    QStringList shapes;
    bool isFree = false;
    for (const base::ValueId input : graph.inputs()) {
        const graph::Value& value = graph.value(input);
        const QString shape = shapeText(value, isFree);
        shapes << (graph.inputs().size() == 1 ? shape : QString::fromStdString(value.name) + QLatin1Char('=') + shape);
    }
    return isFree ? shapes.join(QStringLiteral("  ")) : QString();
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

/// Name of a rewrite for people; one that is new has the name of the command line.
QString rewriteTitle(std::string_view name)
{
    static const std::map<std::string_view, const char*> kTitles{
        {"inline-branches", QT_TR_NOOP("Inline branches")},
        {"expand-functions", QT_TR_NOOP("Expand functions")},
        {"remove-unused", QT_TR_NOOP("Remove unused")},
        {"fold-constants", QT_TR_NOOP("Fold constants")},
        {"dequantise", QT_TR_NOOP("Dequantise")},
        {"remove-identities", QT_TR_NOOP("Remove identities")},
        {"look-up-one-hot", QT_TR_NOOP("Look up one-hot")},
        {"float-inputs", QT_TR_NOOP("Float inputs")},
        {"fuse-layernorm", QT_TR_NOOP("Fuse LayerNorm")},
        {"fuse-rmsnorm", QT_TR_NOOP("Fuse RMSNorm")},
        {"fuse-softmax", QT_TR_NOOP("Fuse softmax")},
        {"fuse-norms", QT_TR_NOOP("Fuse other norms")},
        {"fuse-activations", QT_TR_NOOP("Fuse activations")},
        {"fuse-cells", QT_TR_NOOP("Fuse cells")},
        {"fuse-attention", QT_TR_NOOP("Fuse attention")},
        {"fuse-linear", QT_TR_NOOP("Fuse linear layers")},
        {"merge-batchnorm", QT_TR_NOOP("Merge BatchNorm")},
        {"merge-batchnorm-right", QT_TR_NOOP("Merge BatchNorm, right")},
        {"merge-pad", QT_TR_NOOP("Merge Pad")},
        {"drop-overwritten", QT_TR_NOOP("Drop overwritten")},
        {"merge-common", QT_TR_NOOP("Merge common")},
        {"fuse-elementwise", QT_TR_NOOP("Fuse element-wise")},
    };
    const auto at = kTitles.find(name);
    return at == kTitles.end() ? QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()))
                               : QObject::tr(at->second);
}

/// Every rewrite with what it did.
std::vector<views::RewriteFacts> rewritesOf(const rewrite::Rewritten& rewritten)
{
    std::vector<views::RewriteFacts> all;
    for (const rewrite::RewriteName& one : rewrite::rewriteNames()) {
        views::RewriteFacts facts{QString::fromStdString(std::string(one.name)), rewriteTitle(one.name),
                                  QString::fromStdString(std::string(one.text)), rewritten.options.*one.option};
        for (const rewrite::RewriteStep& step : rewritten.steps) {
            if (step.name == one.name) {
                const std::string node = step.added.empty() ? std::string() : step.added.front();
                facts.steps.push_back({QString::fromStdString(step.text), QString::fromStdString(node), step.isNote});
            }
        }
        facts.isOptional = rewrite::isOptional(one);
        all.push_back(std::move(facts));
    }
    return all;
}

/// Where the model of a run lies: in one of its places, or of its name among the files that are known; empty = nowhere.
QString modelOf(const trace::RunFacts& run, const QString& runFile, const QStringList& known)
{
    const auto places = engine::modelPlaces(run, runFile.toStdString());
    if (!places.empty()) {
        return QString::fromStdString(places.front().string());
    }
    const auto found = std::ranges::find_if(known, [&run](const QString& path) {
        return QFileInfo(path).fileName().toStdString() == run.modelName && QFileInfo(path).isFile() &&
               formats::hasModelEnding(path.toStdString());
    });
    return found == known.end() ? QString() : *found;
}

/// What the model's card knows.
void takeCard(const engine::LoadedModel& model, views::ModelFacts& facts)
{
    const formats::ModelCard& card = *model.card;
    engine::Question opened = engine::openedWith(card);
    if (!opened.composite.empty()) {
        putComposite(opened.composite, opened);
        facts.composite = QString::fromStdString(opened.composite);
        facts.rules = views::stringList(opened.rules);
    }
    facts.checkpoints = views::stringList(card.checkpoints);
    facts.stopsAtCheckpoints = card.stopsAtCheckpoints;
    facts.labels = views::stringList(card.labels);
    for (const formats::CardPicture& picture : card.pictures) {
        facts.inputs.push_back(
            {QString::fromStdString(picture.file), QString::fromStdString(picturePath(model, picture.file))});
    }
}

} // namespace

engine::Question recordedQuestion(const trace::Run& run)
{
    engine::Question question = engine::recordedQuestion(run);
    putComposite(question.composite, question);
    return question;
}

views::ModelFacts recordedFacts(const trace::Run& run, const QString& file, const QStringList& known)
{
    views::ModelFacts facts;
    facts.isRecorded = true;
    facts.name = QFileInfo(QString::fromStdString(run.facts.modelName)).fileName();
    facts.reopen = modelOf(run.facts, file, known);
    facts.recordedInputs = views::stringList(engine::sourcesThatStay(run));
    facts.summary = QString::fromStdString(run.facts.title);
    facts.labels = views::stringList(run.facts.labels);
    return facts;
}

views::ModelFacts modelFacts(const engine::LoadedModel& model)
{
    views::ModelFacts facts;
    facts.name = QString::fromStdString(model.name);
    facts.file = QString::fromStdString(model.path.string());
    facts.summary = summaryOf(model);
    facts.problem = unsupportedText(model);
    if (isForPlanning(model)) {
        facts.problem = QObject::tr("This graph states sizes and costs but no values: it can be planned for, not run. "
                                    "See the workspace Plan.");
    }
    facts.runsInPart = !facts.problem.isEmpty() && engine::runsInPart(model);
    for (const std::string& shape : model.shapes) {
        facts.shapes += (facts.shapes.isEmpty() ? "" : " ") + QString::fromStdString(shape);
    }
    facts.shapeHint = shapeHintOf(model.read ? *model.read : *model.rewritten.before);
    facts.offersPassThrough =
        !ops::unsupported(*model.graph()).empty() && !model.rewritten.options.passThrough && !isForPlanning(model);
    facts.hasLutLayers = engine::hasLutLayer(*model.graph());
    facts.hasLoops = !engine::loopsOf(*model.graph()).empty();
    facts.values = valueNames(*model.graph());
    facts.rewrites = rewritesOf(model.rewritten);
    if (const auto usual = engine::pictureOptions(engine::Question(), model)) {
        facts.preparation = preparationOf(*usual);
    }
    if (model.card) {
        takeCard(model, facts);
    }
    facts.takesPictures = model.card ? model.card->inputKind == "image" : takesPictures(*model.graph());
    facts.readsTexts = engine::readsTexts(model) && (!model.card || model.card->vocabulary.empty());
    if (facts.readsTexts) {
        facts.inputs.push_back({QObject::tr("the text below"), QString()});
    }
    if (model.graph()->inputs().size() == 1) {
        facts.inputs.push_back({QObject::tr("random numbers"), QStringLiteral("random:1")});
        facts.inputs.push_back({QObject::tr("zeros"), QStringLiteral("zeros")});
    }
    return facts;
}

bool isForPlanning(const engine::LoadedModel& model)
{
    return engine::statesFacts(*model.rewritten.before) && !ops::unsupported(*model.graph()).empty();
}

} // namespace retro::app
