// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languagereport.h"

#include "core/trace/targetplace.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;
using tensor::Tensor;

namespace
{

/// The input that holds the tokens of a run of a text.
std::optional<base::ValueId> tokensOfRun(const trace::Run& run)
{
    const std::size_t words = run.facts.input ? run.facts.input->words.size() : 0;
    for (const base::ValueId id : run.graph->inputs()) {
        const Tensor value = id.index() < run.values.size() ? run.values[id.index()] : Tensor();
        const bool isRow = value.isValid() && value.rank() == 2 && value.shape()[0] == 1;
        const bool isRead = run.graph->value(id).name == "input_ids" || run.graph->inputs().size() == 1;
        if (words > 0 && isRow && isRead && value.size() == static_cast<std::int64_t>(words)) {
            return id;
        }
    }
    return std::nullopt;
}

Tensor lastRelevance(const trace::Run& run, base::ValueId input, std::uint64_t position)
{
    const base::NodeId node = run.graph->nodeOf(input);
    base::HandleId handle;
    for (std::uint64_t step = 0; step < std::min(position, run.eventCount()); ++step) {
        const event::Event& event = run.events[step];
        if (event.kind == event::EventKind::Relevance && event.node == node.value) {
            handle = base::HandleId(event.handle);
        }
    }
    return handle.isValid() && handle.index() < run.tensors.size() ? run.tensors[handle.index()] : Tensor();
}

void takeRunTarget(const trace::Run& run, LanguageReport& report)
{
    const std::int64_t index = run.facts.targetIndex.empty() ? -1 : run.facts.targetIndex.front();
    report.score = run.facts.targetLogit.empty() ? 0 : run.facts.targetLogit.front();
    const base::ValueId value = run.facts.targetValue;
    const Tensor scores = value.index() < run.values.size() ? run.values[value.index()] : Tensor();
    if (index < 0 || !scores.isValid() || scores.rank() != 3) {
        const bool hasLabel = index >= 0 && static_cast<std::size_t>(index) < run.facts.labels.size();
        const std::string place = index < 0  ? "the whole value"
                                  : hasLabel ? run.facts.labels[static_cast<std::size_t>(index)]
                                             : trace::placeInTarget(run, index);
        report.otherTarget = fmt::format("{} of {}", place, run.graph->value(value).name);
        return;
    }
    const std::int64_t words = scores.shape()[2];
    const std::int64_t row = index / words;
    report.position = scores.shape()[1] == 1 ? std::ssize(report.tokens) - 1 : row; // the others were left out
    report.target.id = index % words;
    report.target.score = scores.at(index);
    report.best.id = row * words;
    for (std::int64_t i = row * words; i < (row + 1) * words; ++i) {
        report.best.id = scores.at(i) > scores.at(report.best.id) ? i : report.best.id;
    }
    report.best.score = scores.at(report.best.id);
    report.best.id %= words;
}

} // namespace

Result<LanguageReport> reportOf(const trace::Run& run, std::optional<std::uint64_t> position)
{
    const auto tokens = tokensOfRun(run);
    if (!tokens) {
        return base::inputError("this run is of no text; make one with explain --text \"…\" --run FILE");
    }
    const Tensor relevance = lastRelevance(run, *tokens, position.value_or(run.eventCount()));
    if (!relevance.isValid()) {
        return base::inputError(
            "the run has no relevance of the tokens: it was stopped before, or its memory limit was "
            "reached");
    }
    LanguageReport report;
    report.model = run.facts.modelName;
    report.composite = run.facts.composite;
    const std::vector<std::string>& words = run.facts.input->words;
    const Tensor& ids = run.values[tokens->index()];
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        report.tokens.push_back({static_cast<text::TokenId>(ids.at(at)), words[i], std::nullopt});
        report.relevance.push_back(at < relevance.size() ? relevance.at(at) : 0);
        report.reached += report.relevance.back();
    }
    const auto numberOf = [&](const char* name) {
        const auto found = run.facts.numbers.find(name);
        return found == run.facts.numbers.end() ? 0.0 : found->second;
    };
    report.started = numberOf("relevance_start");
    takeRunTarget(run, report);
    return report;
}

} // namespace retro::engine
