// SPDX-License-Identifier: Apache-2.0
#include "core/layout/pieces.h"

#include "core/layout/cyclecomponents.h"
#include "core/layout/topology.h"

#include <unordered_map>

namespace retro::layout
{

namespace
{

/// Chooses the groups that are cut out.
class Chooser
{
public:
    Chooser(const LayoutInput& input, std::vector<bool> isRepeated) : m_input(input), m_isAllowed(std::move(isRepeated))
    {
        m_isAllowed.resize(input.groupParents.size(), false);
        forbidSmall();
    }

    /// Per group: the group that is cut out and holds it (itself included), or kNone.
    std::vector<Index> run()
    {
        for (;;) {
            std::vector<Index> blockOf = outermostMarked(m_input.groupParents, m_isAllowed);
            if (!forbidCycles(blockOf)) {
                return blockOf;
            }
        }
    }

private:
    void forbidSmall()
    {
        std::vector<Index> boxes(m_isAllowed.size(), 0);
        for (Index group : m_input.nodeGroups) {
            for (; group != kNone; group = m_input.groupParents[group]) {
                ++boxes[group];
            }
        }
        for (std::size_t group = 0; group < boxes.size(); ++group) {
            m_isAllowed[group] = m_isAllowed[group] && boxes[group] >= kLeastPiece;
        }
    }

    /// A group on a cycle of what would be drawn cannot be one box. True when there was one.
    bool forbidCycles(const std::vector<Index>& blockOf)
    {
        const auto first = static_cast<Index>(m_input.nodeSizes.size()); // items: nodes, then groups
        const auto groups = static_cast<Index>(m_isAllowed.size());
        const CycleComponents cycles = findCycleComponents(edgesBetween(blockOf), first + groups);
        bool hasFound = false;
        for (Index group = 0; group < groups; ++group) {
            if (m_isAllowed[group] && cycles.size[cycles.component[first + group]] > 1) {
                m_isAllowed[group] = false;
                hasFound = true;
            }
        }
        return hasFound;
    }

    [[nodiscard]] Index itemOf(Index node, const std::vector<Index>& blockOf) const
    {
        const Index group = m_input.nodeGroups.empty() ? kNone : m_input.nodeGroups[node];
        const bool isAlone = group == kNone || blockOf[group] == kNone;
        return isAlone ? node : static_cast<Index>(m_input.nodeSizes.size()) + blockOf[group];
    }

    [[nodiscard]] std::vector<LayoutEdge> edgesBetween(const std::vector<Index>& blockOf) const
    {
        std::vector<LayoutEdge> edges;
        for (const LayoutEdge& edge : m_input.edges) {
            const LayoutEdge ends{itemOf(edge.from, blockOf), itemOf(edge.to, blockOf)};
            if (ends.from != ends.to) {
                edges.push_back(ends);
            }
        }
        return edges;
    }

    const LayoutInput& m_input;
    std::vector<bool> m_isAllowed;
};

class Cutter
{
public:
    Cutter(const LayoutInput& input, const std::vector<bool>& isRepeated)
        : m_input(input), m_isRepeated(isRepeated), m_blockOf(Chooser(input, isRepeated).run()),
          m_local(input.nodeSizes.size(), kNone), m_outStub(input.nodeSizes.size(), kNone)
    {}

    Cut run()
    {
        m_out.edges.resize(m_input.edges.size());
        addGroups();
        addNodes();
        addInnerEdges();
        addOutStubs();
        addOuterEdges();
        return std::move(m_out);
    }

private:
    [[nodiscard]] Index blockOfNode(Index node) const
    {
        const Index group = m_input.nodeGroups.empty() ? kNone : m_input.nodeGroups[node];
        return group == kNone ? kNone : m_blockOf[group];
    }

    [[nodiscard]] Piece& pieceOfNode(Index node) { return m_out.pieces[m_out.pieceOf[node]]; }

    /// Parents may stand behind their children; those of the rest and of each piece keep their order.
    void addGroups()
    {
        m_localGroup.assign(m_input.groupParents.size(), kNone);
        std::vector<Index> pieceOfBlock(m_input.groupParents.size(), kNone);
        for (const Index group : outerGroupsFirst(m_input.groupParents)) {
            const Index block = m_blockOf[group];
            if (block == kNone) {
                m_localGroup[group] = addGroup(group, m_out.restGroups, m_out.rest);
                continue;
            }
            if (block == group) {
                pieceOfBlock[group] = static_cast<Index>(m_out.pieces.size());
                m_out.pieces.emplace_back();
            }
            Piece& piece = m_out.pieces[pieceOfBlock[block]];
            m_localGroup[group] = addGroup(group, piece.groups, piece.input);
            piece.isRepeated.push_back(block != group && m_isRepeated[group]);
        }
        m_pieceOfBlock = std::move(pieceOfBlock);
    }

    Index addGroup(Index group, std::vector<Index>& groups, LayoutInput& into)
    {
        const Index parent = m_input.groupParents[group];
        const bool isOutermost = parent == kNone || m_blockOf[parent] != m_blockOf[group];
        into.groupParents.push_back(isOutermost ? kNone : m_localGroup[parent]);
        groups.push_back(group);
        return static_cast<Index>(groups.size()) - 1;
    }

    void addNodes()
    {
        std::vector<Index> boxOfPiece(m_out.pieces.size(), kNone);
        for (Index node = 0; node < static_cast<Index>(m_input.nodeSizes.size()); ++node) {
            const Index block = blockOfNode(node);
            m_out.pieceOf.push_back(block == kNone ? kNone : m_pieceOfBlock[block]);
            if (block == kNone) {
                m_local[node] = addToRest(node, kNone, m_input.nodeGroups.empty() ? kNone : m_input.nodeGroups[node]);
                continue;
            }
            Piece& piece = pieceOfNode(node);
            Index& box = boxOfPiece[m_out.pieceOf[node]];
            box = box == kNone ? addToRest(kNone, m_out.pieceOf[node], m_input.groupParents[block]) : box;
            m_local[node] =
                addToPiece(piece, m_input.nodeSizes[node], m_localGroup[m_input.nodeGroups[node]], Pin::None);
            piece.nodes.push_back(node);
        }
        m_boxOfPiece = std::move(boxOfPiece);
    }

    Index addToRest(Index node, Index piece, Index group)
    {
        LayoutInput& rest = m_out.rest;
        rest.nodeSizes.push_back(node == kNone ? Size() : m_input.nodeSizes[node]);
        rest.nodeGroups.push_back(group == kNone ? kNone : m_localGroup[group]);
        rest.pins.push_back(node == kNone ? Pin::None : m_input.pinOf(node));
        m_out.restNodes.push_back(node);
        m_out.restPieces.push_back(piece);
        return static_cast<Index>(rest.nodeSizes.size()) - 1;
    }

    static Index addToPiece(Piece& piece, const Size& size, Index group, Pin pin)
    {
        piece.input.nodeSizes.push_back(size);
        piece.input.nodeGroups.push_back(group);
        piece.input.pins.push_back(pin);
        return static_cast<Index>(piece.input.nodeSizes.size()) - 1;
    }

    static Index addEdge(LayoutInput& into, Index from, Index to)
    {
        into.edges.push_back({from, to});
        return static_cast<Index>(into.edges.size()) - 1;
    }

    [[nodiscard]] bool isInside(const LayoutEdge& edge) const
    {
        return m_out.pieceOf[edge.from] != kNone && m_out.pieceOf[edge.from] == m_out.pieceOf[edge.to];
    }

    /// Edges inside a piece and those that come into it, in their order.
    void addInnerEdges()
    {
        std::unordered_map<std::uint64_t, Index> inPins; // by piece and source
        for (std::size_t e = 0; e < m_input.edges.size(); ++e) {
            const auto [from, to] = m_input.edges[e];
            const Index pieceIndex = m_out.pieceOf[to];
            if (pieceIndex == kNone) {
                continue;
            }
            Piece& piece = m_out.pieces[pieceIndex];
            if (isInside(m_input.edges[e])) {
                m_out.edges[e].source = addEdge(piece.input, m_local[from], m_local[to]);
                continue;
            }
            const auto [pin, isNew] = inPins.try_emplace(keyOf(from, pieceIndex), kNone);
            pin->second = isNew ? addToPiece(piece, {}, kNone, Pin::First) : pin->second;
            m_out.edges[e].target = addEdge(piece.input, pin->second, m_local[to]);
        }
    }

    static std::uint64_t keyOf(Index node, Index piece)
    {
        return (static_cast<std::uint64_t>(piece) << 32) | static_cast<std::uint32_t>(node);
    }

    /// One for each member that is read outside, in the order of the members.
    void addOutStubs()
    {
        std::vector<bool> isRead(m_input.nodeSizes.size(), false);
        for (const LayoutEdge& edge : m_input.edges) {
            isRead[edge.from] = isRead[edge.from] || !isInside(edge);
        }
        for (Index node = 0; node < static_cast<Index>(isRead.size()); ++node) {
            if (isRead[node] && m_out.pieceOf[node] != kNone) {
                Piece& piece = pieceOfNode(node);
                const Index pin = addToPiece(piece, {}, kNone, Pin::Last);
                m_outStub[node] = addEdge(piece.input, m_local[node], pin);
            }
        }
    }

    /// All edges from one box into one piece share their way up to it.
    void addOuterEdges()
    {
        std::unordered_map<std::uint64_t, Index> shared; // by piece and source
        for (std::size_t e = 0; e < m_input.edges.size(); ++e) {
            const LayoutEdge& edge = m_input.edges[e];
            if (isInside(edge)) {
                continue;
            }
            CutEdge& way = m_out.edges[e];
            way.source = m_outStub[edge.from];
            const Index into = m_out.pieceOf[edge.to];
            if (into == kNone) {
                way.between = addRestEdge(edge, static_cast<Index>(e));
                continue;
            }
            const auto [known, isNew] = shared.try_emplace(keyOf(edge.from, into), kNone);
            known->second = isNew ? addRestEdge(edge, static_cast<Index>(e)) : known->second;
            way.between = known->second;
        }
    }

    Index addRestEdge(const LayoutEdge& edge, Index whole)
    {
        const auto boxOf = [&](Index node) {
            return m_out.pieceOf[node] == kNone ? m_local[node] : m_boxOfPiece[m_out.pieceOf[node]];
        };
        m_out.rest.edgePins.push_back(m_input.pinsOf(whole));
        return addEdge(m_out.rest, boxOf(edge.from), boxOf(edge.to));
    }

    const LayoutInput& m_input;
    const std::vector<bool>& m_isRepeated;
    std::vector<Index> m_blockOf;      // per group: the group that is cut out around it
    std::vector<Index> m_local;        // per node: index in its piece, or in the rest
    std::vector<Index> m_outStub;      // per node: edge of its piece to its pin
    std::vector<Index> m_localGroup;   // per group: index in its piece, or in the rest
    std::vector<Index> m_pieceOfBlock; // per group
    std::vector<Index> m_boxOfPiece;   // per piece: box of the rest
    Cut m_out;
};

} // namespace

Cut cutPieces(const LayoutInput& input, const std::vector<bool>& isRepeated) { return Cutter(input, isRepeated).run(); }

} // namespace retro::layout
