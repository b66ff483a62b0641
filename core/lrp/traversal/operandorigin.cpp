// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/operandorigin.h"

#include <algorithm>
#include <set>
#include <vector>

namespace retro::lrp
{

using execute::BoundModel;
using execute::NodeId;
using execute::ValueId;
using ops::StructureKind;

namespace
{

/// Nodes above an operand that are still to be looked at, each once.
class Search
{
public:
    explicit Search(const BoundModel& model) : m_model(model) {}

    void add(NodeId node, std::optional<std::size_t> slot)
    {
        const std::vector<ValueId>& inputs = m_model.graph().node(node).inputs;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const bool isTracked = inputs[i].isValid() && m_model.isTracked(inputs[i]);
            if (isTracked && (!slot || *slot == i)) {
                addNode(m_model.graph().nodeOf(inputs[i]));
            }
        }
    }

    [[nodiscard]] NodeId next()
    {
        if (m_open.empty()) {
            return {};
        }
        const NodeId node = m_open.back();
        m_open.pop_back();
        return node;
    }

    /// True for nodes that hand on what another node made.
    [[nodiscard]] bool isTransparent(NodeId node) const
    {
        const StructureKind kind = m_model.op(node).structure().kind();
        if (kind == StructureKind::ShapeMap) {
            return true;
        }
        const auto& inputs = m_model.graph().node(node).inputs;
        const auto carrying = std::count_if(inputs.begin(), inputs.end(), [this](ValueId input) {
            return input.isValid() && m_model.isTracked(input);
        });
        return carrying == 1 && (kind == StructureKind::Product || kind == StructureKind::Quotient ||
                                 kind == StructureKind::SumOfOperands);
    }

private:
    void addNode(NodeId node)
    {
        if (!m_model.graph().isInput(node) && m_seen.insert(node.index()).second) {
            m_open.push_back(node);
        }
    }

    const BoundModel& m_model;
    std::vector<NodeId> m_open;
    std::set<std::size_t> m_seen;
};

} // namespace

bool comesFrom(const BoundModel& model, NodeId node, std::optional<std::size_t> slot,
               std::span<const std::string> operators)
{
    Search search(model);
    search.add(node, slot);
    for (NodeId at = search.next(); at.isValid(); at = search.next()) {
        if (std::find(operators.begin(), operators.end(), model.graph().node(at).op) != operators.end()) {
            return true;
        }
        if (search.isTransparent(at)) {
            search.add(at, std::nullopt);
        }
    }
    return false;
}

} // namespace retro::lrp
