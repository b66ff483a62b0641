// SPDX-License-Identifier: Apache-2.0
#include "views/graph/promisepath.h"

#include <algorithm>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

/// Boxes that a branch passes, the start first, each once in a row.
std::vector<Index> boxesOf(const GraphScene& scene, Index start, const trace::BranchState& branch)
{
    std::vector<Index> boxes{start};
    const auto add = [&](base::NodeId node) {
        if (const Index box = scene.boxOf(node); box != kNone && box != boxes.back()) {
            boxes.push_back(box);
        }
    };
    for (const base::NodeId node : branch.path) {
        add(node);
    }
    add(branch.argNode);
    return boxes;
}

std::optional<double> heldBy(const trace::Run& run, const trace::PromiseState& promise)
{
    std::optional<double> sum;
    for (const base::HandleId handle : promise.relevance) {
        if (handle.isValid() && handle.index() < run.handles.size()) {
            sum = sum.value_or(0) + run.handles[handle.index()].sum;
        }
    }
    return promise.isComplete ? std::nullopt : sum;
}

} // namespace

bool PromisePath::covers(Index edge) const
{
    return std::any_of(pieces.begin(), pieces.end(), [&](const PathPiece& piece) { return piece.edge == edge; });
}

PromisePath makePath(const GraphScene& scene, const trace::RunState& state, base::PromiseId id)
{
    PromisePath path;
    if (!id.isValid() || id.index() >= state.promises.size()) {
        return path;
    }
    const trace::PromiseState& promise = state.promises[id.index()];
    path.promise = id;
    path.start = scene.boxOf(promise.start);
    path.held = heldBy(*scene.book->run, promise);
    if (path.start == kNone) {
        return path;
    }
    for (const trace::BranchState& branch : promise.branches) {
        const std::vector<Index> boxes = boxesOf(scene, path.start, branch);
        for (std::size_t i = 1; i < boxes.size(); ++i) {
            path.pieces.push_back(
                {scene.edgeBetween(boxes[i], boxes[i - 1]), boxes[i - 1], boxes[i], i + 1 == boxes.size()});
        }
    }
    return path;
}

} // namespace retro::views
