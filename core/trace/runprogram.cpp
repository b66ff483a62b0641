// SPDX-License-Identifier: Apache-2.0
#include "core/trace/runprogram.h"

#include "core/program/compile.h"
#include "core/program/key.h"

#include <algorithm>
#include <string>

namespace retro::trace
{

namespace
{

/// What the events say beside what a program is made from.
struct Ends
{
    std::vector<ValueId> targets;
    std::vector<ValueId> checkpoints;
    bool stoppedEarly = false;
};

/// The value that a start relevance belongs to; invalid when the events do not tell.
ValueId targetAt(const Run& run, NodeId node)
{
    if (run.graph->nodeOf(run.facts.targetValue) == node) {
        return run.facts.targetValue;
    }
    const bool isOnly = node.index() < run.graph->runNodeCount() && run.graph->outputsOf(node).size() == 1;
    return isOnly ? run.graph->outputsOf(node).front() : ValueId();
}

Ends endsOf(const Run& run)
{
    Ends ends;
    for (const Event& event : run.events) {
        if (event.kind == event::EventKind::Land && event.other == NodeId::kInvalid) {
            ends.targets.push_back(targetAt(run, NodeId(event.node)));
        } else if (event.kind == event::EventKind::Snapshot && event.node < run.graph->runNodeCount() &&
                   event.slot < run.graph->outputsOf(NodeId(event.node)).size()) {
            ends.checkpoints.push_back(run.graph->outputsOf(NodeId(event.node))[event.slot]);
        } else if (event.kind == event::EventKind::Finished) {
            ends.stoppedEarly = event.flag != 0;
        }
    }
    return ends;
}

} // namespace

base::Hash128 courseKey(const graph::Graph& graph, std::span<const tensor::Shape> shapes,
                        std::span<const NodeRule> rules, std::string_view save, std::span<const ValueId> targets,
                        std::vector<ValueId> checkpoints, bool stopsAtCheckpoints)
{
    std::vector<std::string> texts;
    texts.reserve(rules.size());
    for (const NodeRule& rule : rules) {
        texts.push_back(rule.structure + "\n" + rule.rule);
    }
    std::ranges::sort(checkpoints);
    return program::programKey({graph, shapes, texts, save, targets, checkpoints, stopsAtCheckpoints});
}

base::Result<program::Program> programOf(const Run& run)
{
    if (run.facts.targetValue.index() >= run.graph->valueCount()) {
        return base::inputError("it does not say which value is explained, so there is no program of it");
    }
    const auto isLand = [](const Event& event) { return event.kind == event::EventKind::Land; };
    if (!run.events.empty() && std::ranges::none_of(run.events, isLand)) {
        return base::inputError("a plan carried it out; programs are of passes that were traversed");
    }
    program::FirstPass pass(*run.graph);
    for (const Event& event : run.events) {
        RETRO_CHECK(pass.take(event));
    }
    Ends ends = endsOf(run);
    const bool isTold = std::ranges::all_of(ends.targets, [](ValueId target) { return target.isValid(); });
    if (!isTold) {
        return base::inputError("it starts at a node with several outputs, and its events do not tell at which");
    }
    const base::Hash128 key = courseKey(*run.graph, run.shapes, run.rules, run.facts.save, ends.targets,
                                        std::move(ends.checkpoints), ends.stoppedEarly);
    return program::compile(pass, *run.graph, ends.targets, key);
}

} // namespace retro::trace
