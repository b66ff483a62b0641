// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/diagnosis.h"

#include <nlohmann/json.hpp>

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
    ordered_json evidence = ordered_json::array();
    for (const Evidence& one : finding.evidence) {
        evidence.push_back(
            {{finding.place.kind == PlaceKind::Node ? "node" : "value", one.name}, {"index", one.index}});
    }
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

} // namespace

ordered_json findingsJson(const std::vector<Finding>& findings)
{
    ordered_json all = ordered_json::array();
    for (const Finding& finding : findings) {
        all.push_back(findingJson(finding));
    }
    return all;
}

ordered_json jsonOf(const Diagnosis& diagnosis)
{
    ordered_json checks = ordered_json::array();
    for (const CheckRecord& record : diagnosis.checks) {
        checks.push_back(recordJson(record));
    }
    return {{"format", "retrograde-diagnosis/1"},
            {"model", diagnosis.model},
            {"run", diagnosis.run.empty() ? ordered_json(nullptr) : ordered_json(diagnosis.run)},
            {"failure", diagnosis.failure ? ordered_json(diagnosis.failure->text()) : ordered_json(nullptr)},
            {"findings", findingsJson(diagnosis.findings)},
            {"checks", checks}};
}

} // namespace retro::diagnosis
