// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retro::engine
{

/// What keeps nodes of a graph from running: operators that are not implemented, constants without data, and nodes that
/// read what such a node would make.
class BlockedNodes
{
public:
    BlockedNodes(const LoadedModel& model, const graph::Graph& graph);

    /// True when nothing is blocked.
    [[nodiscard]] bool none() const { return m_causes.empty(); }
    /// What blocks a value, as an error (Input) that names it; nothing when it can be computed.
    [[nodiscard]] std::optional<base::Error> of(base::ValueId value) const;
    /// True when some nodes are blocked and some are not.
    [[nodiscard]] bool isPartial() const;
    /// A line for each cause: "node 'lab' (LabelEncoder), and 2 nodes behind it: operator … is not implemented".
    [[nodiscard]] std::vector<std::string> lines() const;

private:
    struct Cause
    {
        std::string place;
        std::string reason;
        std::size_t behind = 0; ///< nodes that it blocks beside itself
    };

    static constexpr std::size_t kFree = static_cast<std::size_t>(-1);

    void addCause(std::size_t node, std::string place, std::string reason);
    void findCauses(const LoadedModel& model);
    void spread();

    const graph::Graph& m_graph;
    std::vector<Cause> m_causes;
    std::vector<std::size_t> m_causeOf;  // by NodeId
    std::vector<std::size_t> m_absentOf; // by ValueId: the cause that a constant without data is
};

/// The first constant without data of a graph, or of a graph inside its nodes.
[[nodiscard]] std::optional<std::string> firstAbsent(const graph::Graph& graph);

/// True when some outputs of the model can be computed though some nodes cannot run.
[[nodiscard]] bool runsInPart(const LoadedModel& model);

/// The part of a graph that these values depend on, with them as its outputs. Errors: as changedGraph().
[[nodiscard]] base::Result<std::shared_ptr<const graph::Graph>> partFor(const graph::Graph& graph,
                                                                        const std::vector<base::ValueId>& values);

} // namespace retro::engine
