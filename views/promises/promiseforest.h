// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retro::views
{

/// What became of a branch of a promise in the whole run. Steps are event numbers; a thing has happened at a position
/// when its step is smaller.
/// A step that is known lies before the position.
[[nodiscard]] inline bool hasHappened(const std::optional<std::uint64_t>& step, std::uint64_t position)
{
    return step && *step < position;
}

struct BranchFacts
{
    std::optional<std::uint64_t> argumentAt;
    base::NodeId foundAt;             ///< node that answered; invalid when a promise or a constant did
    base::HandleId argument;          ///< the operand; invalid when it never came
    base::NodeId searchEnd;           ///< where the search ended
    std::optional<std::uint32_t> fed; ///< promise that it feeds
};

/// What became of a promise in the whole run.
struct PromiseFacts
{
    event::PromiseKind kind = event::PromiseKind::Operator;
    base::NodeId start;
    std::uint64_t raisedAt = 0;
    std::optional<std::uint64_t> readyAt;
    std::optional<std::uint64_t> openAt;
    std::optional<std::uint64_t> completedAt;
    std::vector<BranchFacts> branches;
    std::vector<std::uint32_t> parents; ///< promises that feed it, in order
    std::uint32_t depth = 0;            ///< promises above it, along the first that feeds it
};

/// How a row of the tree stands at a position.
enum class PromiseRowState : std::uint8_t {
    NotYet,    ///< not raised yet
    Waits,     ///< ◇
    Fulfilled, ///< ◆
    Found,     ///< ✓ the value was found
    Constant   ///< = a constant answered
};

/// All promises that start in one of several groups that are built alike.
struct PromiseLayer
{
    std::string name; ///< "layer.3"
    std::vector<std::uint32_t> promises;
};

/// How the promises of a layer stand at a position.
struct LayerCounts
{
    std::size_t waiting = 0;
    std::size_t fulfilled = 0;
    std::size_t all = 0;
    bool operator==(const LayerCounts&) const = default;
};

/// A run with fewer promises is read row by row: no row stands for several, no chart for all.
inline constexpr std::size_t kFewestToFold = 40;

/// A row: a promise, a branch of one, or a layer. A branch that feeds a promise is one row with it.
struct PromiseRow
{
    PromiseRow* parent = nullptr;
    int position = 0;                    ///< among its siblings
    int depth = 0;                       ///< rows above it
    std::optional<std::uint32_t> layer;  ///< a layer; then there is neither promise nor branch
    base::PromiseId promise;             ///< whose state the row shows
    bool isPromise = false;              ///< false: a branch that feeds no promise
    bool isLink = false;                 ///< the promise stands elsewhere too, with its branches
    std::optional<std::uint32_t> branch; ///< number within the promise above
    std::vector<std::unique_ptr<PromiseRow>> children;
};

/// Rows below each other. Deep residual networks nest tens of thousands of promises; trees of that depth end a tree
/// view's recursion and cannot be read, so the next promise starts a tree of its own and is linked from here.
inline constexpr int kDeepestRow = 48;

/// All promises of a run as a forest: roots are promises that no branch feeds, or that stand too deep to be shown under
/// their parent. Where a run has many and its graph has layers, a promise that starts in another layer than the one
/// that it feeds is a root, too, and the roots of a layer stand under one row. Plain data, built once per run.
class PromiseForest
{
public:
    PromiseForest() = default;
    explicit PromiseForest(const trace::Run& run);

    [[nodiscard]] const std::vector<std::unique_ptr<PromiseRow>>& roots() const { return m_roots; }
    [[nodiscard]] const std::vector<PromiseFacts>& promises() const { return m_promises; }
    [[nodiscard]] bool isEmpty() const { return m_promises.empty(); }
    /// Empty where no row stands for a layer.
    [[nodiscard]] const std::vector<PromiseLayer>& layers() const { return m_layers; }
    /// Of a row that is a layer.
    [[nodiscard]] LayerCounts countsOf(const PromiseRow& row, std::uint64_t position) const;
    /// The row where a promise stands with its branches; null for an unknown one.
    [[nodiscard]] PromiseRow* rowOf(base::PromiseId promise) const;
    /// The branch facts of a row that is one; null for roots.
    [[nodiscard]] const BranchFacts* branchOf(const PromiseRow& row) const;

    [[nodiscard]] PromiseRowState stateOf(const PromiseRow& row, std::uint64_t position) const;
    /// Waits at the position, and for ever: nothing answers it in the rest of the run.
    [[nodiscard]] bool isStuck(const PromiseRow& row, std::uint64_t position) const;
    /// Numbers of promises that wait, that are fulfilled, and that wait for ever.
    [[nodiscard]] std::size_t waiting(std::uint64_t position) const;
    [[nodiscard]] std::size_t fulfilled(std::uint64_t position) const;
    [[nodiscard]] std::size_t stuck(std::uint64_t position) const;
    /// Promises that wait at the position and cannot be fulfilled before this one.
    [[nodiscard]] std::vector<base::PromiseId> followers(base::PromiseId promise, std::uint64_t position) const;

private:
    void read(const trace::Run& run);
    void findLayers(const trace::Run& run);
    void build();
    void foldLayers();
    [[nodiscard]] std::optional<std::uint32_t> layerOf(std::uint32_t promise) const;
    PromiseRow* addRoot(std::size_t promise);
    /// Gives a promise that a branch feeds its place: this row, a row elsewhere, or a tree of its own.
    void settle(std::uint32_t promise, PromiseRow& row, std::vector<PromiseRow*>& open);
    void addBranches(PromiseRow& row, std::vector<PromiseRow*>& open);

    std::vector<PromiseFacts> m_promises;
    std::vector<std::unique_ptr<PromiseRow>> m_roots;
    std::vector<PromiseRow*> m_rowOf; // by promise
    std::vector<PromiseLayer> m_layers;
    std::vector<std::uint32_t> m_layerOf; // by node; empty without layers
};

} // namespace retro::views
