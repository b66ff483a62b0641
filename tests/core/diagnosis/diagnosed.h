// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/diagnosis.h"
#include "core/engine/diagnose.h"
#include "tests/core/rewrite/graphs.h"

#include <QFile>
#include <QtTest>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace retro::tests
{

using diagnosis::Diagnosis;
using diagnosis::Finding;
using diagnosis::Level;
using rewrite::testing::Attributes;
using rewrite::testing::DType;
using rewrite::testing::randomTensor;
using rewrite::testing::Shape;
using rewrite::testing::SharedGraph;
using rewrite::testing::Tensor;
using rewrite::testing::ValueId;
using rewrite::testing::Writer;

using Whole = std::vector<std::int64_t>; ///< an attribute

inline Tensor floats(const Shape& shape, const std::vector<float>& numbers)
{
    return Tensor::of<float>(shape, numbers);
}

/// A model as if it had been read from a file, with the usual rewrites.
inline engine::LoadedModelPointer loaded(const SharedGraph& graph, const rewrite::RewriteOptions& options = {})
{
    auto rewritten = rewrite::rewrite(graph, options);
    if (graph == nullptr || !rewritten) {
        qFatal("the graph of the test is wrong");
    }
    auto model = std::make_shared<engine::LoadedModel>();
    model->path = model->name = "model.onnx";
    model->rewritten = std::move(rewritten).value();
    model->read = graph;
    return model;
}

/// What is asked of a model.
struct Asked
{
    std::vector<Tensor> inputs;
    std::string composite = "epsilon_plus";
    std::string target = "argmax";

    [[nodiscard]] engine::ExplainRequest request() const
    {
        engine::ExplainRequest request;
        request.inputs = inputs;
        request.composite = composite;
        request.target = engine::parseTarget(target).value();
        return request;
    }
};

/// Facts of a model in memory.
inline std::shared_ptr<diagnosis::Facts> factsFor(const SharedGraph& graph, const Asked& asked)
{
    return engine::factsOf(loaded(graph), asked.request());
}

/// What one check finds, or all checks where none is named.
inline Diagnosis diagnosed(const diagnosis::Facts& facts, const std::string& check = {}, bool isDeep = false)
{
    diagnosis::Options options;
    options.isDeep = isDeep;
    if (!check.empty()) {
        options.checks = {check};
    }
    return tests::made(diagnosis::diagnose(facts, options));
}

inline Diagnosis diagnosed(const SharedGraph& graph, const Asked& asked, const std::string& check = {})
{
    return diagnosed(*factsFor(graph, asked), check);
}

/// True when the check ran and found nothing.
inline bool isSilent(const Diagnosis& diagnosis)
{
    return diagnosis.checks.size() == 1 && diagnosis.checks.front().isRun && diagnosis.findings.empty();
}

/// Level, place and sentences of the first finding, for comparison: "warning /conv its bias …".
inline std::string firstText(const Diagnosis& diagnosis)
{
    if (diagnosis.findings.empty()) {
        return {};
    }
    const Finding& first = diagnosis.findings.front();
    return std::string(diagnosis::nameOf(first.level)) + " " + first.place.name + " " + first.what + " / " +
           first.meaning();
}

/// True when every part stands in the text.
inline bool hasAll(const std::string& text, const std::vector<std::string>& parts)
{
    return std::ranges::all_of(parts, [&text](const std::string& part) {
        const bool isThere = text.find(part) != std::string::npos;
        if (!isThere) {
            qWarning("\"%s\" lacks \"%s\"", text.c_str(), part.c_str());
        }
        return isThere;
    });
}

/// The first finding as `diagnose` says it.
inline std::string exampleOf(const Diagnosis& diagnosis)
{
    Diagnosis one;
    one.hasReference = true;
    one.findings = {diagnosis.findings.front()};
    std::string text;
    const std::vector<std::string> lines = diagnosis::textOf(one, 1);
    // Without the counts, and what is said first where all are notes.
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        text += lines[i].starts_with("Nothing wrong") ? "" : lines[i] + "\n";
    }
    return text;
}

/// What is drawn of a finding of that check; nothing where a window draws it from the run, or its number says all.
inline diagnosis::ChartKind expectedChart(const std::string& id)
{
    using diagnosis::ChartKind;
    static const std::map<ChartKind, std::set<std::string>> kCharts{
        {ChartKind::Bars,
         {"model.training",
          "model.weight-nonfinite",
          "model.channel-outlier",
          "model.bn-outlier",
          "model.norm-outlier",
          "model.zero-weights",
          "data.preparation",
          "data.classes",
          "data.statistics",
          "data.silent",
          "model.stack",
          "model.parts",
          "input.columns",
          "target.labels",
          "input.drift",
          "input.padding",
          "target.squashed",
          "target.range",
          "target.rank",
          "forward.nonfinite",
          "recurrent.gate",
          "token.sink",
          "token.behind",
          "diff.weight",
          "diff.input",
          "diff.start",
          "eval.below-random"}},
        {ChartKind::Histogram,
         {"model.zero-factor", "input.range", "forward.dead", "forward.saturated", "forward.clipped", "forward.half",
          "forward.epsilon", "quant.saturated", "quant.coarse", "rule.box"}},
        {ChartKind::Map,
         {"model.stride", "attention.leak", "attention.sharp", "attention.mask", "data.place", "diff.forward"}},
        {ChartKind::Rows,
         {"input.layout", "input.shape", "rule.shared", "rule.odd", "diff.node", "diff.attribute", "diff.rewired",
          "diff.rule", "diff.target"}}};
    const auto kind = std::ranges::find_if(kCharts, [&id](const auto& one) { return one.second.contains(id); });
    return kind == kCharts.end() ? ChartKind::None : kind->first;
}

/// True when the first finding has a number, and the chart that its check draws up: with something to see in it.
inline bool isShown(const Diagnosis& diagnosis)
{
    const Finding& first = diagnosis.findings.front();
    const diagnosis::Chart& chart = first.chart;
    const bool isOfKind = chart.kind == expectedChart(first.id);
    const bool hasContent = chart.kind == diagnosis::ChartKind::None || !chart.amounts.empty() || chart.rows.size() > 1;
    const bool isOk = isOfKind && hasContent && !first.numbers.empty();
    if (!isOk) {
        qWarning("%s: has a chart of kind %s, %zu amounts, %zu rows and %zu numbers", first.id.c_str(),
                 std::string(diagnosis::nameOf(chart.kind)).c_str(), chart.amounts.size(), chart.rows.size(),
                 first.numbers.size());
    }
    return isOk;
}

/// True when the first finding can be shown, and the entry of its check in docs/diagnosis.md has it as its
/// example, in lines of any length.
inline bool isDocumented(const Diagnosis& diagnosis)
{
    QFile file(QStringLiteral(RETRO_SOURCE_DIR "/docs/diagnosis.md"));
    const QString page = file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
    const QString id = QString::fromStdString(diagnosis.findings.front().id);
    const QString example = QString::fromStdString(exampleOf(diagnosis));
    const QString entry = page.section("\n### `" + id + "`\n", 1, 1).section("\n### ", 0, 0).section("```", 1, 1);
    const bool isThere = entry.simplified() == example.simplified();
    if (!isThere) {
        qWarning().noquote() << QStringLiteral("docs/diagnosis.md, \"%1\", lacks:\n%2").arg(id, example);
    }
    return isThere && isShown(diagnosis);
}

/// What the check measured.
inline const diagnosis::CheckRecord& only(const Diagnosis& diagnosis) { return diagnosis.checks.front(); }

} // namespace retro::tests
