// SPDX-License-Identifier: Apache-2.0
#include "core/graph/metadata.h"
#include "core/ops/elements.h"
#include "core/rewrite/passes.h"
#include "core/rewrite/statictypes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace retro::rewrite
{

using graph::Node;
using ops::TensorType;

namespace
{

using enum ops::Elements;

/// The node after which nobody reads a value, by value; invalid where the caller reads it, or nobody.
std::vector<NodeId> lastReaders(const Draft& draft)
{
    std::vector<NodeId> last(draft.before().valueCount());
    for (std::size_t i = 0; i < draft.nodeCount(); ++i) {
        for (const ValueId operand : draft.node(NodeId(i)).inputs) {
            const bool isThere = !draft.isRemoved(NodeId(i)) && operand.isValid() && operand.index() < last.size();
            if (isThere && !draft.isOutput(operand)) {
                last[operand.index()] = NodeId(i);
            }
        }
    }
    return last;
}

std::int64_t bytesOfType(const TensorType& type)
{
    return tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype));
}

class Overwriter
{
public:
    explicit Overwriter(Draft& draft)
        : m_draft(draft), m_types(staticTypes(draft.before(), {})), m_last(lastReaders(draft))
    {}

    /// Marks one node when an operand dies there. Shapes that are not known yet are compared when the node runs.
    std::optional<RewriteStep> mark(NodeId id)
    {
        const Node& node = m_draft.node(id);
        // Each element is computed from those at the same place, of two operands or of the first.
        const std::size_t slots = ops::combinesTwo(node, {Summed, Subtracted, Multiplied, Divided}) ? 2
                                  : ops::areElements(node, {Function, Bounded})                     ? 1
                                                                                                    : 0;
        for (std::size_t slot = 0; slot < std::min(slots, node.inputs.size()); ++slot) {
            const auto made = typeOf(node.outputs[0]);
            const auto own = typeOf(node.inputs[slot]);
            const bool mayFit = slots == 1 || !made || !own || *made == *own;
            if (dies(node.inputs[slot], id) && mayFit) {
                return marked(id, slot, own, slots == 2 && !(made && own));
            }
        }
        return std::nullopt;
    }

private:
    /// Type of a value of the graph before; of one that a rewrite made, nothing.
    [[nodiscard]] std::optional<TensorType> typeOf(ValueId value) const
    {
        return value.isValid() && value.index() < m_types.size() ? m_types[value.index()] : std::nullopt;
    }

    /// True for the result of a node that nobody reads after this one.
    [[nodiscard]] bool dies(ValueId operand, NodeId id) const
    {
        const bool isResult = operand.isValid() && m_draft.value(operand).producer.isValid();
        return isResult && operand.index() < m_last.size() && m_last[operand.index()] == id;
    }

    RewriteStep marked(NodeId id, std::size_t slot, const std::optional<TensorType>& type, bool isOpen)
    {
        Node node = m_draft.node(id);
        node.metadata[std::string(graph::kOverwrites)] = fmt::format("{}", slot);
        RewriteStep step;
        step.rewrite = "overwrite operand";
        step.text = fmt::format("{} ({}) writes over {}, which nobody reads after it", node.name, node.op,
                                m_draft.value(node.inputs[slot]).name);
        step.text += type ? fmt::format(": {} bytes less", bytesOfType(*type)) : "";
        step.text += isOpen ? ", where both have one shape" : "";
        step.removed = {node.name};
        step.added = {node.name};
        m_draft.replaceNode(id, std::move(node));
        return step;
    }

    Draft& m_draft;
    std::vector<std::optional<TensorType>> m_types;
    std::vector<NodeId> m_last;
};

} // namespace

void overwriteOperands(Draft& draft, std::vector<RewriteStep>& steps)
{
    Overwriter overwriter(draft);
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        if (draft.isRemoved(NodeId(i)) || draft.node(NodeId(i)).outputs.size() != 1) {
            continue;
        }
        if (std::optional<RewriteStep> step = overwriter.mark(NodeId(i))) {
            steps.push_back(std::move(*step));
        }
    }
}

} // namespace retro::rewrite
