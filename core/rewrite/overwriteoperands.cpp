// SPDX-License-Identifier: Apache-2.0
#include "core/graph/metadata.h"
#include "core/ops/registry.h"
#include "core/rewrite/passes.h"
#include "core/rewrite/statictypes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace retro::rewrite
{

using graph::Node;
using ops::TensorType;

namespace
{

/// Operators that compute each element from the elements at the same place.
bool isElementWise(const Node& node)
{
    constexpr std::array<std::string_view, 4> kOfTwo{"Add", "Sub", "Mul", "Div"};
    const ops::OperatorDeclaration* known = ops::find(node.domain, node.op, node.opset);
    const bool isFunction = known != nullptr && known->structure.starts_with("element-wise") && node.op != "Pow";
    const bool isArithmetic = node.domain.empty() && std::ranges::find(kOfTwo, node.op) != kOfTwo.end();
    return (isFunction || isArithmetic) && node.outputs.size() == 1;
}

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

std::int64_t bytesOf(const TensorType& type)
{
    return tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype));
}

class Overwriter
{
public:
    explicit Overwriter(Draft& draft)
        : m_draft(draft), m_types(staticTypes(draft.before(), {})), m_last(lastReaders(draft))
    {}

    /// Marks one node when an operand dies there.
    std::optional<RewriteStep> mark(NodeId id)
    {
        const Node& node = m_draft.node(id);
        const std::optional<TensorType> made = typeOf(node.outputs[0]);
        if (!made) {
            return std::nullopt;
        }
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            if (dies(node.inputs[slot], id) && typeOf(node.inputs[slot]) == made) {
                return marked(id, slot, bytesOf(*made));
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

    RewriteStep marked(NodeId id, std::size_t slot, std::int64_t bytes)
    {
        Node node = m_draft.node(id);
        node.metadata[std::string(graph::kOverwrites)] = fmt::format("{}", slot);
        RewriteStep step;
        step.rewrite = "overwrite operand";
        step.text = fmt::format("{} ({}) writes over {}, which nobody reads after it: {} bytes less", node.name,
                                node.op, m_draft.value(node.inputs[slot]).name, bytes);
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
        if (draft.isRemoved(NodeId(i)) || !isElementWise(draft.node(NodeId(i)))) {
            continue;
        }
        if (std::optional<RewriteStep> step = overwriter.mark(NodeId(i))) {
            steps.push_back(std::move(*step));
        }
    }
}

} // namespace retro::rewrite
