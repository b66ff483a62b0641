// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/cellchecks.h"

#include "core/engine/verify/reversecourse.h"
#include "core/execute/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::engine
{

using base::Result;
using tape::Id;
using tape::ModelTape;
using tensor::Tensor;

namespace
{

constexpr const char* kSize = "as many cells as leaves and nodes";
constexpr const char* kContext = "what a node may read is what a forward pass gives";
constexpr const char* kValues = "the values of the tape are those of the forward pass, in its order";

/// Inputs, and the constants that nodes read.
std::size_t leavesOf(const graph::Graph& graph)
{
    std::size_t count = graph.inputs().size();
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const base::ValueId value(i);
        count += graph.value(value).kind == graph::ValueKind::Constant && !graph.uses(value).empty() ? 1 : 0;
    }
    return count;
}

/// One for a node with one result; of others one for all results together and one for each that has a name.
std::size_t cellsOf(const execute::BoundModel& model, base::NodeId node)
{
    const std::vector<base::ValueId>& outputs = model.graph().node(node).outputs;
    const std::size_t count = std::min(model.op(node).outputTypes().size(), outputs.size());
    const auto named = std::count_if(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(count),
                                     [](base::ValueId one) { return one.isValid(); });
    const bool isOne = model.op(node).outputTypes().size() == 1 && outputs.size() == 1;
    return isOne ? 1 : 1 + static_cast<std::size_t>(named);
}

/// The first node that has not the cells that the graph asks for.
Counterexample wrongNode(const ModelTape& made)
{
    const graph::Graph& graph = made.model->graph();
    std::vector<std::size_t> cells(graph.nodeCount(), 0);
    for (const base::NodeId node : made.nodeOf) {
        cells[node.isValid() ? node.index() : 0] += node.isValid() ? 1 : 0;
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::size_t expected = cellsOf(*made.model, base::NodeId(i));
        if (cells[i] != expected) {
            const std::string& name = graph.node(base::NodeId(i)).name;
            return {fmt::format("smallest case: {} alone, with {} cells for {}", name, cells[i], expected), name};
        }
    }
    return {};
}

/// The first cell that the graph does not account for, or that is missing.
Counterexample wrongSize(const ModelTape& made)
{
    const std::size_t leaves = leavesOf(made.model->graph());
    const std::size_t known = made.valueOf.size();
    const std::size_t size = made.tape.size();
    const std::string counts = fmt::format("{} cells of {}; ", size, known);
    if (made.tape.leafCount() != leaves) {
        return {fmt::format("{} leaves for {} inputs and constants that are read", made.tape.leafCount(), leaves)};
    }
    if (size > known) {
        const std::string& name = made.tape.cell(static_cast<Id>(known)).node.name;
        return {counts + fmt::format("smallest case: {} alone, which the graph does not have",
                                     tape::cellText(static_cast<Id>(known), name))};
    }
    if (size < known) {
        const auto missing = static_cast<Id>(size);
        return {counts + fmt::format("smallest case: {} alone, which has no cell", made.nameOf(missing)),
                nodeAt(made, missing)};
    }
    return wrongNode(made);
}

/// The first operand that is not earlier than its node.
Counterexample laterOperand(const ModelTape& made)
{
    for (Id id = 0; id < made.tape.size(); ++id) {
        const std::vector<Id>& parents = made.tape.cell(id).node.parents;
        const auto later = std::ranges::find_if(parents, [id](Id parent) { return parent >= id; });
        if (later != parents.end()) {
            const std::string name = *later < made.tape.size() ? made.nameOf(*later) : "nothing";
            return {fmt::format("{} (id {}) reads {} (id {}), which is not earlier; smallest case: {} = f({})",
                                made.nameOf(id), id, name, *later, made.nameOf(id), name),
                    nodeAt(made, id)};
        }
    }
    return {};
}

/// "in 2 of 3 elements" and "at [1]: 0.5 on the tape, 0.25 in a forward pass".
struct TensorGap
{
    std::string extent;
    std::string place;
};

TensorGap gapOf(const Tensor& own, const Tensor& other)
{
    if (own.shape() != other.shape() || own.dtype() != other.dtype()) {
        return {"in its type",
                fmt::format("{} {} on the tape, {} {} in a forward pass", tensor::nameOf(own.dtype()),
                            tensor::toText(own.shape()), tensor::nameOf(other.dtype()), tensor::toText(other.shape()))};
    }
    const Tensor a = own.contiguous();
    const Tensor b = other.contiguous();
    std::int64_t count = 0;
    TensorGap gap;
    for (std::int64_t i = 0; i < a.size(); ++i) {
        const bool isSame = a.at(i) == b.at(i) ? std::signbit(a.at(i)) == std::signbit(b.at(i))
                                               : std::isnan(a.at(i)) && std::isnan(b.at(i));
        if (!isSame && ++count == 1) {
            gap.place =
                fmt::format("at {}: {} on the tape, {} in a forward pass", placeText(a.shape(), i), a.at(i), b.at(i));
        }
    }
    gap.extent = fmt::format("in {} of {} elements", count, a.size());
    return gap;
}

/// What another forward pass gives for the values of a tape.
class OtherForward
{
public:
    static Result<OtherForward> run(const ModelTape& made, const std::stop_token& stop)
    {
        std::vector<Tensor> inputs;
        for (std::size_t i = 0; i < made.model->graph().inputs().size(); ++i) {
            inputs.push_back(made.tape.cell(static_cast<Id>(i)).value.only());
        }
        RETRO_TRY(execute::ForwardResult result, execute::forward(made.model, inputs, execute::SavePolicy::All, stop));
        return OtherForward(made, std::move(result));
    }

    /// The first value, in the order of ids, that differs: its operands agree.
    [[nodiscard]] Counterexample differingValue() const
    {
        for (Id id = static_cast<Id>(m_made.tape.leafCount()); id < m_made.tape.size(); ++id) {
            const Tensor other = m_made.valueOf[id].isValid() ? valueOf(m_made.valueOf[id]) : Tensor();
            const Tensor& own = m_made.tape.cell(id).value.only();
            if (other.isValid() && !own.bitEqual(other)) {
                const TensorGap gap = gapOf(own, other);
                return {fmt::format("{} differs {}; smallest case: {} alone, whose operands agree, {}",
                                    m_made.nameOf(id), gap.extent, nodeAt(m_made, id), gap.place),
                        nodeAt(m_made, id)};
            }
        }
        return {};
    }

    /// The first operand, in the order of ids, that is not what the graph hands to the node.
    [[nodiscard]] Counterexample differingOperand() const
    {
        Counterexample wrong;
        base::NodeId last;
        for (Id id = static_cast<Id>(m_made.tape.leafCount()); id < m_made.tape.size() && wrong.text.empty(); ++id) {
            const bool isFirstCell = m_made.nodeOf[id] != last; // those behind it take one result of it each
            last = m_made.nodeOf[id];
            wrong = isFirstCell ? differingOperandOf(id) : Counterexample();
        }
        return wrong;
    }

private:
    OtherForward(const ModelTape& made, execute::ForwardResult result) : m_made(made), m_result(std::move(result)) {}

    [[nodiscard]] Tensor valueOf(base::ValueId value) const
    {
        const bool isConstant = m_made.model->graph().value(value).kind == graph::ValueKind::Constant;
        return isConstant ? m_made.model->storedConstant(value) : m_result.saved.anyValue(value);
    }

    [[nodiscard]] Counterexample differingOperandOf(Id id) const
    {
        const std::vector<Id>& parents = m_made.tape.cell(id).node.parents;
        std::vector<base::ValueId> operands = m_made.model->graph().node(m_made.nodeOf[id]).inputs;
        std::erase_if(operands, [](base::ValueId one) { return !one.isValid(); });
        const std::string node = nodeAt(m_made, id);
        if (operands.size() != parents.size()) {
            return {fmt::format("smallest case: {} alone, which reads {} values on the tape and {} in the graph", node,
                                parents.size(), operands.size()),
                    node};
        }
        for (std::size_t i = 0; i < operands.size(); ++i) {
            const Tensor other = valueOf(operands[i]);
            const Tensor& own = m_made.tape.cell(parents[i]).value.only();
            if (other.isValid() && !own.bitEqual(other)) {
                const TensorGap gap = gapOf(own, other);
                return {fmt::format("operand {} of {} is {} on the tape and {} in the graph, and differs {}; smallest "
                                    "case: operand {} of {} alone, {}",
                                    i, node, m_made.nameOf(parents[i]), m_made.model->graph().value(operands[i]).name,
                                    gap.extent, i, node, gap.place),
                        node};
            }
        }
        return {};
    }

    const ModelTape& m_made;
    execute::ForwardResult m_result;
};

} // namespace

bool isSound(const ModelTape& made) { return wrongSize(made).text.empty() && laterOperand(made).text.empty(); }

Result<PropertyResults> checkCells(const ModelTape& made, const std::stop_token& stop)
{
    const std::size_t leaves = made.tape.leafCount();
    PropertyResult size =
        judged("P1", kSize, wrongSize(made), fmt::format("{} leaves and {} nodes", leaves, made.tape.size() - leaves));
    if (size.state == PropertyState::Violated) {
        return PropertyResults{std::move(size)};
    }
    PropertyResult direction = judged("P4", kDirection, laterOperand(made), "");
    if (direction.state == PropertyState::Violated) {
        return PropertyResults{std::move(size), std::move(direction)};
    }
    RETRO_TRY(const OtherForward forward, OtherForward::run(made, stop));
    constexpr const char* kCompared = "bit for bit with another forward pass";
    return PropertyResults{std::move(size), judged("P2", kContext, forward.differingOperand(), kCompared),
                           judged("P3", kValues, forward.differingValue(), kCompared)};
}

} // namespace retro::engine
