// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardedstorage.h"

namespace retro::engine
{

using base::NodeId;
using base::ValueId;

namespace
{

class ForwardedStorageWriter
{
public:
    ForwardedStorageWriter(const ForwardNeeds& needs, double overhead)
        : m_needs(needs), m_graph(needs.model().graph()), m_overhead(overhead),
          m_numbers(m_graph.valueCount(), kNowhere)
    {}

    ForwardedStorage write()
    {
        for (const ValueId input : m_graph.inputs()) {
            add(input);
            m_made.problem.leafSizes.push_back(bytesOf(input));
        }
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            addNode(NodeId(i));
        }
        for (std::size_t v = 0; v < m_numbers.size(); ++v) {
            for (const RuleRead& read : m_numbers[v] == kNowhere ? std::span<const RuleRead>() : readsOf(v)) {
                addRead(read.node, m_numbers[v]);
            }
        }
        m_made.problem.output = m_numbers[m_needs.targets().front().index()];
        return std::move(m_made);
    }

private:
    static constexpr std::uint32_t kNowhere = ~0U;

    [[nodiscard]] std::span<const RuleRead> readsOf(std::size_t v) const { return m_needs.readsOf(ValueId(v)); }
    [[nodiscard]] std::int64_t bytesOf(ValueId value) const
    {
        const ops::TensorType& type = m_needs.model().typeOf(value);
        return tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype));
    }
    void add(ValueId value)
    {
        m_numbers[value.index()] = static_cast<std::uint32_t>(m_made.values.size());
        m_made.values.push_back(value);
    }
    void addNode(NodeId id)
    {
        const graph::Node& node = m_graph.node(id);
        std::vector<std::uint32_t> operands;
        for (const ValueId operand : node.inputs) {
            if (operand.isValid() && m_numbers[operand.index()] != kNowhere) {
                operands.push_back(m_numbers[operand.index()]);
            }
        }
        double cost = m_needs.model().op(id).flops() + m_overhead;
        for (const ValueId output : node.outputs) {
            if (output.isValid() && !m_needs.model().isConstant(output)) {
                add(output);
                m_made.problem.nodes.push_back({operands, {}, bytesOf(output), cost});
                cost = m_overhead; // it is computed once for all its results
            }
        }
    }
    /// The rule of a node counts with its first result.
    void addRead(NodeId id, std::uint32_t number)
    {
        analysis::StorageProblem& problem = m_made.problem;
        for (const ValueId output : m_graph.node(id).outputs) {
            if (output.isValid() && m_numbers[output.index()] != kNowhere) {
                problem.nodes[m_numbers[output.index()] - problem.leafSizes.size()].backwardReads.push_back(number);
                return;
            }
        }
    }

    const ForwardNeeds& m_needs;
    const graph::Graph& m_graph;
    double m_overhead;
    ForwardedStorage m_made;
    std::vector<std::uint32_t> m_numbers; ///< per value
};

} // namespace

ForwardedStorage forwardedStorage(const ForwardNeeds& needs, double overhead)
{
    return ForwardedStorageWriter(needs, overhead).write();
}

} // namespace retro::engine
