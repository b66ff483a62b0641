// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// Loops of fewer iterations are kept whole unless a person says how often to keep a checkpoint.
inline constexpr std::size_t kShortLoop = 16;

/// How often a loop keeps what it carries.
struct LoopCheckpoints
{
    std::string loop; ///< the Loop or Scan of the model
    std::size_t iterations = 0;
    std::size_t every = 0; ///< iterations from one checkpoint to the next; 0 = the loop is kept whole
};

/// Names of the Loop and Scan nodes of a graph and of the branches of its If nodes, as they are called when they are
/// written out: "choose/steps". Those inside another loop are left out: they belong to the iterations of that one.
[[nodiscard]] std::vector<std::string> loopsOf(const graph::Graph& graph);

/// The iterations of loops that were written out (execute::unroll), put together to segments: what a segment reads of
/// earlier ones and of the graph around the loop is kept, and the rest of it is computed again at once when the reverse
/// pass reaches it. A segment takes about as much memory as the checkpoints when it has √iterations.
class LoopSegments
{
public:
    /// No loops.
    LoopSegments() = default;
    /// `loops`: names of Loop and Scan nodes of the graph before it was written out; a loop inside a loop belongs to
    /// the iterations of the outer one. `every`: iterations of a segment; none = √iterations, short loops whole.
    LoopSegments(const execute::BoundModel& model, std::span<const std::string> loops,
                 std::optional<std::size_t> every);

    [[nodiscard]] const std::vector<LoopCheckpoints>& loops() const { return m_loops; }
    /// The segment of a node of the written-out graph; nothing for nodes of no loop and of one that is kept whole.
    [[nodiscard]] std::optional<std::size_t> segmentOf(base::NodeId node) const;
    /// Nodes of a segment, in order.
    [[nodiscard]] std::span<const base::NodeId> nodesOf(std::size_t segment) const { return m_segments[segment].nodes; }
    /// Why a value is kept for rebuilding; empty = it is not.
    [[nodiscard]] std::string whyKept(const execute::BoundModel& model, base::ValueId value) const;

private:
    struct Segment
    {
        std::size_t loop = 0;
        std::size_t first = 0; ///< iteration
        std::vector<base::NodeId> nodes;
    };

    void addSegments(const std::map<std::size_t, std::vector<base::NodeId>>& byIteration);
    void addLoop(const execute::BoundModel& model, const std::string& loop, std::optional<std::size_t> every);

    std::vector<LoopCheckpoints> m_loops;
    std::vector<Segment> m_segments;
    std::vector<std::optional<std::size_t>> m_segmentOf; ///< per node
};

} // namespace retro::engine
