// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/findingdrawings.h"

#include "core/diagnosis/growthalong.h"
#include "core/diagnosis/numbertext.h"
#include "core/engine/compare/compare.h"
#include "core/engine/diagnose.h"
#include "core/ops/algebra.h"
#include "core/trace/ledgersummary.h"
#include "views/common/numbertext.h"
#include "views/common/paint/heatmapimage.h"
#include "views/diagnose/diagnosisstate.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::app
{

namespace
{

using base::NodeId;
using base::Result;
using base::ValueId;
using diagnosis::Finding;
using tensor::Tensor;
using views::EvidenceBar;
using views::EvidenceKind;
using views::FindingEvidence;
using views::FindingPreview;

constexpr std::size_t kMostBars = 28;
constexpr double kLeastShare = 0.001;     // of what arrived: a smaller part is not drawn
constexpr double kScalePercentile = 99.9; // of |R|, as everywhere

QString drawn(const char* text) { return QCoreApplication::translate("retro::app::findingdrawings", text); }

QString figure(double number) { return QString::fromStdString(diagnosis::numberText(number)); }

std::vector<trace::NodeBalance> balancesIn(const trace::Run& run)
{
    std::vector<trace::NodeBalance> balances(run.graph->runNodeCount());
    for (std::size_t i = 0; i < balances.size(); ++i) {
        balances[i].node = NodeId(i);
    }
    trace::addRows(balances, run.ledger);
    return balances;
}

std::vector<double> magnitudesAtInputs(const graph::Graph& graph, const std::vector<Tensor>& relevance)
{
    std::vector<double> sums;
    for (const ValueId input : graph.inputs()) {
        const Tensor& at = relevance[input.index()];
        sums.push_back(at.isValid() ? ops::algebra::sumAbsolute(at) : 0);
    }
    return sums;
}

/// Where a finding is in the graph of a run: by its node, or by what its action names.
NodeId nodeIn(const Finding& finding, const graph::Graph& graph)
{
    const auto named = finding.action.arguments.find("node");
    if (named != finding.action.arguments.end()) {
        if (const auto node = graph.findNode(named->second)) {
            return *node;
        }
    }
    const bool isThere = finding.place.node.isValid() && finding.place.node.index() < graph.runNodeCount();
    return isThere ? finding.place.node : NodeId();
}

/// The largest of each of at most kMostBars stretches; what the finding is about stays a bar of its own.
std::vector<EvidenceBar> gathered(const std::vector<EvidenceBar>& all)
{
    std::vector<EvidenceBar> bars;
    const std::size_t count = std::min(all.size(), kMostBars);
    for (std::size_t i = 0; i < count; ++i) {
        const auto from = all.begin() + static_cast<std::ptrdiff_t>(i * all.size() / count);
        const auto to = all.begin() + static_cast<std::ptrdiff_t>((i + 1) * all.size() / count);
        const auto place = std::find_if(from, to, [](const EvidenceBar& bar) { return bar.isPlace; });
        bars.push_back(place != to ? *place : *std::max_element(from, to, [](const auto& a, const auto& b) {
            return a.amount < b.amount;
        }));
    }
    return bars;
}

FindingEvidence growthOf(const Finding& finding, const trace::Run& run)
{
    const graph::Graph& graph = *run.graph;
    const std::vector<trace::NodeBalance> balances = balancesIn(run);
    const NodeId place = nodeIn(finding, graph);
    const bool isKnown = std::ranges::any_of(balances, [](const trace::NodeBalance& one) {
        return one.magnitudeHandedOn > 0; // of older run files it is not
    });
    std::vector<EvidenceBar> all;
    for (std::size_t i = graph.nodeCount(); i-- > 0;) {
        if (const trace::NodeBalance& one = balances[i]; one.rows > 0) {
            all.push_back({views::RunModel::placeLabel(graph, NodeId(i)),
                           isKnown ? one.magnitudeHandedOn : one.magnitude, NodeId(i) == place});
        }
    }
    const std::vector<double> inputs = magnitudesAtInputs(graph, engine::finalRelevance(run));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const NodeId node = graph.inputNode(graph.inputs()[i]);
        all.push_back({views::RunModel::placeLabel(graph, node), inputs[i], node == place});
    }
    FindingEvidence evidence{EvidenceKind::Growth};
    evidence.title = drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "Σ|R| handed on; dashed: what started"));
    evidence.bars = gathered(all);
    const auto started = run.facts.numbers.find("relevance_start");
    evidence.limit = started == run.facts.numbers.end() ? 0 : std::abs(started->second);
    return evidence;
}

/// What arrived at a node, as what it handed on and what each cause took.
FindingEvidence partsOf(const Finding& finding, const trace::Run& run)
{
    const NodeId node = nodeIn(finding, *run.graph);
    if (!node.isValid()) {
        return {};
    }
    const trace::NodeBalance balance = balancesIn(run)[node.index()];
    if (!(balance.magnitude > 0)) {
        return {};
    }
    double taken = 0;
    std::vector<EvidenceBar> causes;
    for (std::size_t i = 0; i < balance.causes.size(); ++i) {
        const double amount = std::abs(balance.causes[i]);
        const std::string_view name = event::nameOf(static_cast<event::Cause>(i));
        if (amount > kLeastShare * balance.magnitude) {
            taken += amount;
            causes.push_back({QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())), amount, false, 1});
        }
    }
    if (causes.empty()) {
        return {};
    }
    std::ranges::stable_sort(causes, [](const auto& a, const auto& b) { return a.amount > b.amount; });
    causes.front().isPlace = true;
    FindingEvidence evidence{EvidenceKind::Parts};
    evidence.title = drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "Where Σ|R| %1 that arrives here goes"))
                         .arg(figure(balance.magnitude));
    evidence.bars = {{drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "handed on")),
                      std::max(0.0, balance.magnitude - taken)}};
    evidence.bars.insert(evidence.bars.end(), causes.begin(), causes.end());
    return evidence;
}

/// A heatmap and the limit of its scale.
struct SmallHeatmap
{
    QImage image;
    double limit = 0;
};

/// Of an input that is a picture; null else.
SmallHeatmap heatmapOf(const Tensor& relevance, const trace::Run& run)
{
    const bool isNamed = run.facts.input && run.facts.input->kind == "image";
    const bool isPicture = relevance.isValid() && (relevance.rank() == 4 || (relevance.rank() == 3 && isNamed));
    if (!isPicture) {
        return {};
    }
    const bool isLast = run.facts.input && run.facts.input->layout == "NHWC";
    const Result<views::Plane> plane = views::channelSum(relevance, 0, isLast);
    if (!plane || plane->width < 2 || plane->height < 2) {
        return {};
    }
    const views::Scale scale = views::symmetricScale(plane->values, kScalePercentile);
    return {views::heatmapOnly(*plane, scale, views::ColorMap()), scale.limit};
}

/// The first input that relevance came to as a picture; invalid where there is none.
ValueId pictureOf(const trace::Run& run, const std::vector<Tensor>& relevance)
{
    for (const ValueId input : run.graph->inputs()) {
        if (!heatmapOf(relevance[input.index()], run).image.isNull()) {
            return input;
        }
    }
    return {};
}

FindingEvidence pictureEvidence(const Finding& finding, const trace::Run& run)
{
    const std::vector<Tensor> relevance = engine::finalRelevance(run);
    const ValueId input = pictureOf(run, relevance);
    if (!input.isValid()) {
        return {};
    }
    FindingEvidence evidence{EvidenceKind::Picture};
    evidence.title = drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "Relevance of %1"))
                         .arg(QString::fromStdString(run.graph->value(input).name));
    evidence.picture = heatmapOf(relevance[input.index()], run).image;
    const auto argument = [&finding](const char* name) {
        const auto at = finding.action.arguments.find(name);
        return at == finding.action.arguments.end() ? 0 : QString::fromStdString(at->second).toInt();
    };
    const int side = argument("side");
    const QRect box(argument("column"), argument("row"), side > 0 ? side : argument("width"),
                    side > 0 ? side : argument("height"));
    if (!box.isEmpty()) {
        evidence.box = box;
    }
    return evidence;
}

bool isAmong(std::string_view id, std::span<const std::string_view> ids)
{
    return std::ranges::find(ids, id) != ids.end();
}

/// "Σ at the input 2.6 → 2.2".
QString change(const QString& what, double now, double after)
{
    return drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "%1 %2 → %3")).arg(what, figure(now), figure(after));
}

double sumAtInputs(const graph::Graph& graph, const std::vector<Tensor>& relevance)
{
    double sum = 0;
    for (const ValueId input : graph.inputs()) {
        if (const Tensor& at = relevance[input.index()]; at.isValid()) {
            sum += ops::algebra::sum(at);
        }
    }
    return sum;
}

/// What becomes of the finding itself.
QString outcome(const Finding& finding, const diagnosis::Diagnosis& after)
{
    const std::string key = views::keyOf(finding);
    const auto same =
        std::ranges::find_if(after.findings, [&](const Finding& one) { return views::keyOf(one) == key; });
    const QString id = QString::fromStdString(finding.id);
    if (same == after.findings.end()) {
        return after.findings.empty()
                   ? drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "%1 is gone")).arg(id)
                   : drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "%1 is gone here, and found at %2"))
                         .arg(id, QString::fromStdString(after.findings.front().place.name));
    }
    if (finding.numbers.empty() || same->numbers.empty()) {
        return drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "%1 stays")).arg(id);
    }
    return change(id, finding.numbers.front().second, same->numbers.front().second);
}

/// What is put before the composite, and the other parts of a question that differ.
QString changesIn(const engine::Question& before, const engine::Question& after)
{
    QStringList parts;
    for (const std::string& rule : after.rules) {
        if (std::ranges::find(before.rules, rule) == before.rules.end()) {
            parts << QStringLiteral("--rule ") + QString::fromStdString(rule);
        }
    }
    for (const std::string& rule : before.rules) {
        if (std::ranges::find(after.rules, rule) == after.rules.end()) {
            parts << drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "without %1"))
                         .arg(QString::fromStdString(rule));
        }
    }
    if (before.composite != after.composite) {
        parts << QStringLiteral("--composite ") + QString::fromStdString(after.composite);
    }
    if (before.targets != after.targets && !after.targets.empty()) {
        parts << QStringLiteral("--target ") + QString::fromStdString(after.targets.front());
    }
    return parts.isEmpty() ? drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "the changed question"))
                           : parts.join(QStringLiteral(", "));
}

} // namespace

FindingEvidence evidenceOf(const Finding& finding, const trace::Run* run)
{
    static constexpr std::array<std::string_view, 5> kGrowth{"flow.growth", "flow.explodes", "flow.cut", "rule.better",
                                                             "flow.unconnected"};
    static constexpr std::array<std::string_view, 7> kParts{"flow.bias",         "flow.zero-denominator", "flow.unread",
                                                            "flow.clipped-sign", "flow.constant",         "rule.stop",
                                                            "rule.unmerged-bn"};
    static constexpr std::array<std::string_view, 4> kPictures{"input.concentrated", "model.stride",
                                                               "model.checkerboard", "input.range"};
    if (finding.chart.kind != diagnosis::ChartKind::None) {
        FindingEvidence evidence{EvidenceKind::Chart};
        evidence.title = QString::fromStdString(finding.chart.title);
        evidence.chart = finding.chart;
        return evidence;
    }
    if (run == nullptr || run->ledger.empty()) {
        return {};
    }
    if (isAmong(finding.id, kGrowth)) {
        return growthOf(finding, *run);
    }
    if (isAmong(finding.id, kParts)) {
        return partsOf(finding, *run);
    }
    return isAmong(finding.id, kPictures) ? pictureEvidence(finding, *run) : FindingEvidence();
}

Result<FindingPreview> previewOf(DiagnoseRequest request, const engine::Question& question, const Finding& finding,
                                 const std::stop_token& stop)
{
    if (!request.job.model || !request.run) {
        return base::usageError("a recorded run has no model to ask");
    }
    FindingPreview preview;
    preview.key = views::keyOf(finding);
    preview.changes = changesIn(request.job.question, question);
    ExplainJob job = request.job;
    job.setsRewrites = job.setsRewrites || job.question.noRewrite != question.noRewrite ||
                       job.question.noMergeBatchNorm != question.noMergeBatchNorm;
    job.question = question;
    RETRO_TRY(job.model, modelOf(job, stop));
    RETRO_TRY(engine::ExplainRequest asked, requestOf(job));
    RETRO_TRY(asked.inputs, readInputs(job));
    asked.record = asked.keepValues = asked.keepsPass = asked.inputsOnly = false;
    asked.keepsForward = true;
    RETRO_TRY(const engine::ExplainResult made, engine::explain(*job.model, asked, stop));

    const auto facts = engine::factsOf(*job.model, asked, made, stop);
    diagnosis::Options options;
    options.checks = {finding.id};
    RETRO_TRY(const diagnosis::Diagnosis after, diagnosis::diagnose(*facts, options));

    const trace::Run& run = *request.run;
    const std::vector<Tensor> relevance = engine::finalRelevance(run);
    const std::vector<trace::NodeBalance> balances = balancesIn(run);
    const double decades =
        diagnosis::growthAlong(*run.graph, balances, magnitudesAtInputs(*run.graph, relevance)).decades;
    const graph::Graph& graph = made.model->graph();
    const bool isChecked = !after.checks.empty() && after.checks.front().isRun;
    const QString unknown = drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "%1 is not looked for here"))
                                .arg(QString::fromStdString(finding.id));
    preview.figures = {isChecked ? outcome(finding, after) : unknown,
                       change(drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "Σ at the inputs")),
                              sumAtInputs(*run.graph, relevance), sumAtInputs(graph, made.relevance)),
                       change(drawn(QT_TRANSLATE_NOOP("retro::app::findingdrawings", "decades that Σ|R| grows by")),
                              decades, diagnosis::growthAlong(*facts).decades)};
    const ValueId picture = pictureOf(run, relevance);
    const auto other = picture.isValid() ? graph.findValue(run.graph->value(picture).name) : std::optional<ValueId>();
    if (other && made.relevance[other->index()].isValid()) {
        const SmallHeatmap now = heatmapOf(relevance[picture.index()], run);
        const SmallHeatmap then = heatmapOf(made.relevance[other->index()], run);
        preview.now = now.image;
        preview.after = then.image;
        preview.nowScale = QStringLiteral("±") + views::valueText(now.limit, 2);
        preview.afterScale = QStringLiteral("±") + views::valueText(then.limit, 2);
    }
    return preview;
}

} // namespace retro::app
