// SPDX-License-Identifier: Apache-2.0
#include "views/promises/promisefigures.h"

#include <algorithm>
#include <vector>

namespace retro::views
{

namespace
{

QString shortText(tensor::Shape shape)
{
    if (shape.size() > 1 && shape.front() == 1) {
        shape.erase(shape.begin());
    }
    return QString::fromStdString(tensor::toText(shape)).remove(QLatin1Char(' '));
}

/// Shape of the first output of a node; empty when nobody knows it.
tensor::Shape outputShape(const trace::Run& run, base::NodeId node)
{
    if (!node.isValid() || node.index() >= run.graph->runNodeCount()) {
        return {};
    }
    const base::ValueId output = run.graph->firstOutput(node);
    return output.index() < run.shapes.size() ? run.shapes[output.index()] : tensor::Shape();
}

std::optional<PromiseAge> ageOf(std::uint64_t from, const std::optional<std::uint64_t>& answer, std::uint64_t position)
{
    if (from >= position) {
        return std::nullopt;
    }
    const bool isAnswered = answer && *answer < position;
    return PromiseAge{from, isAnswered ? *answer : position - 1, isAnswered};
}

} // namespace

std::optional<PromiseAge> ageOf(const PromiseFacts& facts, std::uint64_t position)
{
    return ageOf(facts.raisedAt, facts.completedAt, position);
}

std::optional<PromiseAge> ageOf(const PromiseForest& forest, const PromiseRow& row, std::uint64_t position)
{
    if (row.layer) {
        return std::nullopt;
    }
    const PromiseFacts& facts = forest.promises()[row.promise.index()];
    const BranchFacts* branch = forest.branchOf(row);
    if (branch == nullptr || (row.isPromise && facts.raisedAt < position)) {
        return ageOf(facts, position);
    }
    return ageOf(forest.promises()[row.parent->promise.index()].raisedAt, branch->argumentAt, position);
}

QString shapeText(const trace::Run& run, const PromiseFacts& facts)
{
    const tensor::Shape shape = outputShape(run, facts.start);
    return shape.empty() ? QString() : shortText(shape);
}

QString shapeText(const trace::Run& run, const PromiseForest& forest, const PromiseRow& row, std::uint64_t position)
{
    if (row.isPromise) {
        return shapeText(run, forest.promises()[row.promise.index()]);
    }
    const BranchFacts* branch = forest.branchOf(row);
    const bool isFound = branch != nullptr && branch->argumentAt && *branch->argumentAt < position &&
                         branch->argument.isValid() && branch->argument.index() < run.handles.size();
    return isFound ? shortText(run.handles[branch->argument.index()].shape) : QString();
}

std::int64_t heldBytes(const trace::Run& run, const trace::PromiseState& promise)
{
    std::vector<std::uint32_t> held;
    const auto add = [&](base::HandleId handle, bool isHeld) {
        if (isHeld && handle.isValid() && handle.index() < run.handles.size()) {
            held.push_back(handle.value);
        }
    };
    for (const trace::BranchState& branch : promise.branches) {
        add(branch.argument, branch.holdsArgument && !promise.isComplete);
        add(branch.relevance, branch.holdsRelevance());
    }
    for (const base::HandleId relevance : promise.relevance) {
        add(relevance, !promise.isComplete);
    }
    std::sort(held.begin(), held.end());
    held.erase(std::unique(held.begin(), held.end()), held.end());
    std::int64_t bytes = 0;
    for (const std::uint32_t handle : held) {
        bytes += run.handles[handle].bytes;
    }
    return bytes;
}

} // namespace retro::views
