// SPDX-License-Identifier: Apache-2.0
#include "core/engine/region/historyjson.h"

#include "core/base/record.h"

#include <nlohmann/json.hpp>

namespace retro::engine
{

using nlohmann::ordered_json;

ordered_json historyJson(const trace::Run& run, const History& history)
{
    ordered_json rows = ordered_json::array();
    for (const HistoryRow& row : history.rows) {
        const ordered_json parts = base::listOf(row.largest, [&](const HistoryElement& one) -> ordered_json {
            return {{"index", one.index}, {"relevance", one.relevance}, {"way", one.way}, {"part", one.part}};
        });
        const ordered_json channels = base::listOf(row.channels, [&](const HistoryChannel& one) -> ordered_json {
            return {{"index", one.index}, {"part", one.part}};
        });
        rows.push_back({{"value", run.graph->value(row.value).name},
                        {"node", run.graph->labelOf(row.node)},
                        {"rule", row.rule},
                        {"formula", row.formula},
                        {"sum", row.sum},
                        {"magnitude", row.magnitude},
                        {"whole", row.isWhole},
                        {"elements", row.elements},
                        {"largest", parts},
                        {"channels", channels},
                        {"step", base::orNull(row.step)}});
    }
    ordered_json last = ordered_json::array();
    for (const HistoryLastStep& step : history.last) {
        ordered_json numbers = ordered_json::object();
        for (const HistoryNumber& number : step.numbers) {
            numbers[number.name] = number.value;
        }
        last.push_back({{"node", run.graph->labelOf(step.node)},
                        {"from", step.from},
                        {"rule", step.rule},
                        {"formula", step.formula},
                        {"numbers", numbers},
                        {"part", step.part},
                        {"all", step.all}});
    }
    return {{"value", run.graph->value(history.value).name},
            {"index", history.index},
            {"relevance", history.relevance},
            {"start", history.start},
            {"apart", history.apart},
            {"rows", rows},
            {"last", last},
            {"seconds", history.seconds}};
}

} // namespace retro::engine
