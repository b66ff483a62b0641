// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/runtexts.h"

#include "core/base/hash.h"
#include "core/graph/graphbuilder.h"
#include "core/trace/targetplace.h"

#include <algorithm>

namespace retro::views
{

namespace
{

/// Class name of what was explained, its number where there are no names, else the name of the value; may be empty.
std::string targetOf(const trace::Run& run)
{
    const trace::RunFacts& facts = run.facts;
    if (!facts.targetIndex.empty()) {
        const std::int64_t index = facts.targetIndex.front();
        if (index >= 0 && trace::hasDenseTarget(run)) {
            return trace::placeInTarget(run, index);
        }
        const auto nameOf = [&](std::int64_t at) {
            const bool isKnown = at >= 0 && static_cast<std::size_t>(at) < facts.labels.size();
            return isKnown ? facts.labels[static_cast<std::size_t>(at)] : std::to_string(at);
        };
        if (const auto segment = trace::segmentOf(run)) {
            return "segment " + nameOf(*segment);
        }
        if (index < 0 && facts.targetValue.isValid()) {
            return run.graph->value(facts.targetValue).name;
        }
        return nameOf(index);
    }
    return facts.targetValue.isValid() ? run.graph->value(facts.targetValue).name : std::string();
}

} // namespace

const std::string& softwareText()
{
    static const std::string text = "Retrograde " RETRO_VERSION;
    return text;
}

std::string modelHashText(const graph::Graph& graph) { return base::hex(graph::structuralHash(graph)); }

PictureTexts runTexts(const trace::Run& run, std::uint64_t position)
{
    PictureTexts texts{{"model", run.facts.modelName},
                       {"model_hash", modelHashText(*run.graph)},
                       {"target", targetOf(run)},
                       {"rules", run.facts.composite},
                       {"software", softwareText()}};
    if (run.eventCount() > 0) {
        texts["step"] = std::to_string(std::min(position, run.eventCount()));
        texts["visit"] = std::to_string(position >= run.eventCount() ? run.visitCount() : run.visitOf(position));
    }
    std::erase_if(texts, [](const auto& entry) { return entry.second.empty(); });
    return texts;
}

} // namespace retro::views
