// SPDX-License-Identifier: Apache-2.0
#include "core/base/record.h"
#include "core/diagnosis/diagnosis.h"
#include "core/diagnosis/population.h"

#include <nlohmann/json.hpp>

#include <set>

namespace retro::diagnosis
{

using nlohmann::ordered_json;

namespace
{

/// What is drawn of a finding; null where nothing is.
ordered_json chartJson(const Chart& chart)
{
    ordered_json json = {{"kind", nameOf(chart.kind)}, {"title", chart.title}};
    switch (chart.kind) {
    case ChartKind::None:
        return nullptr;
    case ChartKind::Bars:
        json["amounts"] = chart.amounts;
        json["names"] = chart.names;
        json["marked"] = chart.marked;
        json["limits"] = chart.limits;
        json["logarithmic"] = chart.isLogarithmic;
        break;
    case ChartKind::Histogram:
        json["counts"] = chart.amounts;
        json["low"] = chart.low;
        json["high"] = chart.high;
        json["limits"] = chart.limits;
        json["marked"] = chart.marked;
        break;
    case ChartKind::Map:
        json["columns"] = chart.columns;
        json["amounts"] = chart.amounts;
        json["marked"] = chart.marked;
        break;
    case ChartKind::Rows:
        json["rows"] = chart.rows;
        break;
    }
    return json;
}

ordered_json findingJson(const Finding& finding)
{
    ordered_json numbers = ordered_json::object();
    for (const auto& [name, number] : finding.numbers) {
        numbers[name] = number;
    }
    const ordered_json evidence = base::listOf(finding.evidence, [&](const Evidence& one) -> ordered_json {
        return {{finding.place.kind == PlaceKind::Node ? "node" : "value", one.name}, {"index", one.index}};
    });
    const bool isValue = finding.place.kind == PlaceKind::Value || finding.place.kind == PlaceKind::Input;
    const ordered_json name = finding.place.name;
    return {
        {"id", finding.id},
        {"level", nameOf(finding.level)},
        {"score", finding.score()},
        {"node", isValue ? ordered_json(nullptr) : name},
        {"value", isValue ? name : ordered_json(nullptr)},
        {"text", finding.what},
        {"meaning", finding.meaning()},
        {"action",
         {{"kind", finding.action.kind}, {"arguments", finding.action.arguments}, {"option", finding.action.option}}},
        {"numbers", numbers},
        {"threshold", finding.threshold},
        {"evidence", evidence},
        {"chart", chartJson(finding.chart)},
        {"also", findingsJson(finding.also)}};
}

ordered_json recordJson(const CheckRecord& record)
{
    ordered_json largest = nullptr;
    if (record.sites > 0) {
        largest = {{"node", record.largestAt}, {"statistic", record.largest}};
    }
    return {{"id", record.check->id},   {"state", record.isRun ? "run" : "not run"},
            {"why", record.why},        {"sites", record.sites},
            {"largest", largest},       {"threshold", record.check->threshold},
            {"seconds", record.seconds}};
}

/// A row per class of the labels: how many inputs have it, which classes they get, how sure the model is of them.
ordered_json folderJson(const Population& folder)
{
    ordered_json classes = ordered_json::array();
    for (const std::int64_t label : std::set(folder.truth.begin(), folder.truth.end())) {
        ordered_json answers = ordered_json::object();
        double confidence = 0;
        std::size_t inputs = 0;
        for (std::size_t i = 0; folder.hasTruth() && i < folder.truth.size(); ++i) {
            if (folder.truth[i] == label) {
                ++inputs;
                confidence += folder.asGiven.confidence[i];
                const std::string got = std::to_string(folder.asGiven.best[i]);
                answers[got] = answers.value(got, 0) + 1;
            }
        }
        classes.push_back({{"class", label},
                           {"inputs", inputs},
                           {"right", folder.hasTruth() ? folder.count(label, label) : 0},
                           {"confidence", inputs > 0 ? confidence / static_cast<double>(inputs) : 0},
                           {"answers", answers}});
    }
    const ordered_json ways = base::listOf(folder.otherwise, [&](const Answers& way) -> ordered_json {
        return {{"words", way.words},
                {"option", way.option},
                {"inputs", way.best.size()},
                {"right", folder.hasTruth() ? ordered_json(way.right(folder.truth)) : ordered_json(nullptr)},
                {"confidence", way.meanConfidence()}};
    });
    return {{"inputs", folder.files.size()},
            {"right", folder.hasTruth() ? ordered_json(folder.asGiven.right(folder.truth)) : ordered_json(nullptr)},
            {"confidence", folder.asGiven.meanConfidence()},
            {"classes", classes},
            {"otherwise", ways},
            {"fields", folder.fields}};
}

} // namespace

ordered_json findingsJson(const std::vector<Finding>& findings)
{
    return base::listOf(findings, [&](const Finding& finding) { return findingJson(finding); });
}

ordered_json jsonOf(const Diagnosis& diagnosis)
{
    const ordered_json head = base::listOf(diagnosis.head, [&](const HeadFact& fact) -> ordered_json {
        return {{"id", fact.id}, {"text", fact.text}, {"number", fact.number}, {"unusual", fact.isUnusual}};
    });
    const ordered_json checks =
        base::listOf(diagnosis.checks, [&](const CheckRecord& record) { return recordJson(record); });
    return {{"format", "retrograde-diagnosis/1"},
            {"model", diagnosis.model},
            {"run", diagnosis.run.empty() ? ordered_json(nullptr) : ordered_json(diagnosis.run)},
            {"failure", diagnosis.failure ? ordered_json(diagnosis.failure->text()) : ordered_json(nullptr)},
            {"headline", head},
            {"folder", diagnosis.folder ? folderJson(*diagnosis.folder) : ordered_json(nullptr)},
            {"findings", findingsJson(diagnosis.findings)},
            {"checks", checks}};
}

} // namespace retro::diagnosis
