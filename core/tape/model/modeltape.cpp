// SPDX-License-Identifier: Apache-2.0
#include "core/tape/model/modeltape.h"

#include "core/base/cancel.h"
#include "core/event/observer.h"
#include "core/ops/algebra.h"
#include "core/ops/runoperator.h"

#include <algorithm>

namespace retro::tape
{

using base::Result;
using tensor::DType;
using tensor::Tensor;

namespace
{

bool isZero(const Tensor& tensor)
{
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        if (tensor.at(i) != 0) {
            return false;
        }
    }
    return true;
}

bool equalElements(const Tensor& a, const Tensor& b)
{
    for (std::int64_t i = 0; i < a.size(); ++i) {
        if (a.at(i) != b.at(i)) {
            return false;
        }
    }
    return true;
}

bool isNothing(const Tensor& tensor) { return !tensor.isValid() || isZero(tensor); }

bool equalByValue(const Tensor& a, const Tensor& b)
{
    if (!a.isValid() || !b.isValid()) {
        return isNothing(a) && isNothing(b);
    }
    return a.shape() == b.shape() && equalElements(a.contiguous(), b.contiguous());
}

bool fits(const Tensor& a, const Tensor& b) { return !a.isValid() || !b.isValid() || a.shape() == b.shape(); }

/// What all nodes of a tape share.
struct Shared
{
    std::shared_ptr<const BoundModel> model;
    ModelRule rule;
    std::stop_token stop;
};

/// A node of the graph: takes and gives whole bundles.
class NodeOperator final : public Operator<Bundle>
{
public:
    NodeOperator(std::shared_ptr<const Shared> shared, NodeId node) : m_shared(std::move(shared)), m_node(node) {}

    [[nodiscard]] Result<Bundle> forward(Operands<Bundle> operands, const Payload<Bundle>&) const override
    {
        RETRO_CHECK(base::checkStop(m_shared->stop));
        const ops::BoundOperator& op = m_shared->model->op(m_node);
        const std::vector<Tensor> bySlot = operandsBySlot(operands);
        RETRO_CHECK(op.check(bySlot));
        const event::NodeWatch watch(m_node);
        std::vector<Tensor> results = ops::forwardOrFail(op, node(), bySlot);
        watch.done(event::Half::Forward, false, op.flops(), results);
        return Bundle(std::move(results));
    }

    [[nodiscard]] Result<Parts<Bundle>> reverse(const Site<Bundle>& site, const Bundle& upstream) const override
    {
        RETRO_CHECK(base::checkStop(m_shared->stop));
        const std::vector<Tensor> bySlot = operandsBySlot(site.operands);
        std::vector<std::uint8_t> wanted(bySlot.size(), 0);
        forEachPresent([&](std::size_t slot, std::size_t i) { wanted[slot] = site.wanted[i]; });
        RETRO_TRY(
            std::vector<Tensor> parts,
            base::placed([this] { return ops::placeOf(node()); },
                         [&] {
                             return m_shared->rule({m_node, bySlot, site.value.tensors, upstream.tensors, wanted});
                         }));
        Parts<Bundle> all(site.operands.size());
        forEachPresent([&](std::size_t slot, std::size_t i) {
            if (slot < parts.size() && parts[slot].isValid()) {
                all[i] = Bundle(std::move(parts[slot]));
            }
        });
        return all;
    }

private:
    [[nodiscard]] const graph::Node& node() const { return m_shared->model->graph().node(m_node); }
    [[nodiscard]] const std::vector<ValueId>& inputs() const { return node().inputs; }

    /// f(slot, position among the operands that are given).
    template <class F>
    void forEachPresent(const F& f) const
    {
        std::size_t next = 0;
        for (std::size_t slot = 0; slot < inputs().size(); ++slot) {
            if (inputs()[slot].isValid()) {
                f(slot, next++);
            }
        }
    }

    /// Narrow constants come from the model, which widens them.
    [[nodiscard]] std::vector<Tensor> operandsBySlot(Operands<Bundle> operands) const
    {
        const tensor::DType floatType = execute::dtypeOf(m_shared->model->precision());
        std::vector<Tensor> bySlot(inputs().size());
        forEachPresent([&](std::size_t slot, std::size_t i) {
            const Tensor& own = operands[i]->only();
            const bool isNarrow = tensor::isFloating(own.dtype()) && own.dtype() != floatType;
            bySlot[slot] = isNarrow ? m_shared->model->constant(inputs()[slot]) : own;
        });
        return bySlot;
    }

    std::shared_ptr<const Shared> m_shared;
    NodeId m_node;
};

/// Result `k` of a bundle of `count`.
class ProjectionOperator final : public Operator<Bundle>
{
public:
    ProjectionOperator(std::size_t k, std::size_t count) : m_k(k), m_count(count) {}

    [[nodiscard]] Result<Bundle> forward(Operands<Bundle> operands, const Payload<Bundle>&) const override
    {
        return Bundle(operands.front()->tensors[m_k]);
    }

    [[nodiscard]] Result<Parts<Bundle>> reverse(const Site<Bundle>&, const Bundle& upstream) const override
    {
        Bundle all(std::vector<Tensor>(m_count, Tensor()));
        all.tensors[m_k] = upstream.only();
        return Parts<Bundle>{std::move(all)};
    }

private:
    std::size_t m_k;
    std::size_t m_count;
};

class Compiler
{
public:
    Compiler(std::shared_ptr<const BoundModel> model, ModelRule rule, std::stop_token stop)
        : m_shared(std::make_shared<const Shared>(Shared{model, std::move(rule), stop})), m_stop(std::move(stop))
    {
        m_made.model = std::move(model);
        m_made.idOf.assign(graph().valueCount(), ModelTape::kNowhere);
    }

    Result<ModelTape> compile(std::span<const Tensor> inputs)
    {
        addCells();
        std::vector<Bundle> leaves(inputs.begin(), inputs.end());
        for (std::size_t id = inputs.size(); id < m_leafCount; ++id) {
            leaves.emplace_back(m_made.model->storedConstant(m_made.valueOf[id]));
        }
        auto tape = tape::compile(std::move(m_nodes), std::move(leaves));
        RETRO_CHECK(base::checkStop(m_stop));
        if (!tape.ok()) {
            return tape.error().asError();
        }
        m_made.tape = std::move(tape).value();
        return finished();
    }

    ModelTape outline()
    {
        addCells();
        std::vector<Cell<Bundle>> cells;
        for (std::size_t id = 0; id < m_made.valueOf.size(); ++id) {
            const ValueId value = m_made.valueOf[id];
            std::vector<ops::TensorType> types;
            if (value.isValid()) {
                types.push_back(m_made.model->typeOf(value));
            } else {
                const auto all = m_made.model->op(m_made.nodeOf[id]).outputTypes();
                types.assign(all.begin(), all.end());
            }
            Bundle shapes;
            std::ranges::transform(types, std::back_inserter(shapes.tensors), shapeAlone);
            Node<Bundle> node = id < m_leafCount ? Node<Bundle>() : std::move(m_nodes[id - m_leafCount]);
            cells.push_back({std::move(node), std::move(shapes)});
        }
        m_made.tape = Tape<Bundle>(std::move(cells), m_leafCount, {});
        return finished();
    }

private:
    /// One element, seen everywhere.
    static Tensor shapeAlone(const ops::TensorType& type)
    {
        return {type.dtype, type.shape, tensor::Shape(type.shape.size(), 0), 0,
                Tensor::zeros(type.dtype, {1}).storage()};
    }

    void addCells()
    {
        for (const ValueId input : graph().inputs()) {
            addLeaf(input);
        }
        for (const ValueId constant : readConstants()) {
            addLeaf(constant);
        }
        m_leafCount = m_made.valueOf.size();
        m_nodes.reserve(graph().nodeCount());
        for (std::size_t i = 0; i < graph().nodeCount(); ++i) {
            addNode(NodeId(i));
        }
    }

    ModelTape finished()
    {
        for (Id id = 0; id < m_made.tape.leafCount(); ++id) {
            m_made.tape.setName(id, m_made.nameOf(id));
        }
        track();
        return std::move(m_made);
    }

    [[nodiscard]] const graph::Graph& graph() const { return m_made.model->graph(); }

    [[nodiscard]] std::vector<ValueId> readConstants() const
    {
        std::vector<ValueId> constants;
        for (std::size_t i = 0; i < graph().valueCount(); ++i) {
            if (graph().value(ValueId(i)).kind == graph::ValueKind::Constant && !graph().uses(ValueId(i)).empty()) {
                constants.push_back(ValueId(i));
            }
        }
        return constants;
    }

    void addCell(ValueId value, NodeId node)
    {
        if (value.isValid()) {
            m_made.idOf[value.index()] = static_cast<Id>(m_made.valueOf.size());
        }
        m_made.valueOf.push_back(value);
        m_made.nodeOf.push_back(node);
    }

    void addLeaf(ValueId value) { addCell(value, {}); }

    void addNode(NodeId id)
    {
        const graph::Node& node = graph().node(id);
        std::vector<Id> parents;
        parents.reserve(node.inputs.size());
        for (const ValueId operand : node.inputs) {
            if (operand.isValid()) {
                parents.push_back(m_made.idOf[operand.index()]);
            }
        }
        const std::size_t count = m_made.model->op(id).outputTypes().size();
        const bool isOne = count == 1 && node.outputs.size() == 1;
        const Id own = static_cast<Id>(m_made.valueOf.size());
        m_nodes.push_back({std::make_shared<NodeOperator>(m_shared, id), std::move(parents), node.name});
        addCell(isOne ? node.outputs.front() : ValueId(), id);
        for (std::size_t k = 0; !isOne && k < std::min(count, node.outputs.size()); ++k) {
            if (node.outputs[k].isValid()) {
                m_nodes.push_back({std::make_shared<ProjectionOperator>(k, count), {own}, node.name});
                addCell(node.outputs[k], id);
            }
        }
    }

    [[nodiscard]] bool isTracked(ValueId value) const
    {
        return m_made.model->isTracked(value) && tensor::isFloating(m_made.model->typeOf(value).dtype);
    }

    void track()
    {
        std::vector<std::uint8_t> ofNode(graph().nodeCount(), 0);
        for (Id id = 0; id < m_made.tape.size(); ++id) {
            const ValueId value = m_made.valueOf[id];
            const bool tracks = value.isValid() && isTracked(value);
            m_made.tape.setTracked(id, tracks);
            if (tracks && m_made.nodeOf[id].isValid()) {
                ofNode[m_made.nodeOf[id].index()] = 1;
            }
        }
        for (Id id = 0; id < m_made.tape.size(); ++id) {
            if (!m_made.valueOf[id].isValid()) {
                m_made.tape.setTracked(id, ofNode[m_made.nodeOf[id].index()] != 0);
            }
        }
    }

    ModelTape m_made;
    NodeList<Bundle> m_nodes;
    std::size_t m_leafCount = 0;
    std::shared_ptr<const Shared> m_shared;
    std::stop_token m_stop;
};

} // namespace

bool Bundle::operator==(const Bundle& other) const
{
    bool isEqual = tensors.size() == other.tensors.size();
    for (std::size_t k = 0; isEqual && k < tensors.size(); ++k) {
        isEqual = equalByValue(tensors[k], other.tensors[k]);
    }
    return isEqual;
}

bool Bundle::bitEqual(const Bundle& other) const
{
    bool isEqual = tensors.size() == other.tensors.size();
    for (std::size_t k = 0; isEqual && k < tensors.size(); ++k) {
        const Tensor& a = tensors[k];
        const Tensor& b = other.tensors[k];
        isEqual = a.isValid() == b.isValid() && (!a.isValid() || a.bitEqual(b));
    }
    return isEqual;
}

bool ValueTraits<Bundle>::sameShape(const Bundle& a, const Bundle& b)
{
    bool isSame = a.tensors.size() == b.tensors.size();
    for (std::size_t k = 0; isSame && k < a.tensors.size(); ++k) {
        isSame = fits(a.tensors[k], b.tensors[k]);
    }
    return isSame;
}

std::string ValueTraits<Bundle>::shapeText(const Bundle& a)
{
    std::string text;
    for (const Tensor& one : a.tensors) {
        text += text.empty() ? "" : ", ";
        text += one.isValid() ? tensor::toText(one.shape()) : "nothing";
    }
    return text;
}

Bundle ValueTraits<Bundle>::add(const Bundle& accumulator, const Bundle& part)
{
    Bundle sum = accumulator;
    for (std::size_t k = 0; k < sum.tensors.size(); ++k) {
        const Tensor& other = part.tensors[k];
        if (other.isValid()) {
            sum.tensors[k] = sum.tensors[k].isValid() ? ops::algebra::add(sum.tensors[k], other) : other;
        }
    }
    return sum;
}

Bundle ValueTraits<Bundle>::zeroLike(const Bundle& a)
{
    Bundle zeros;
    for (const Tensor& one : a.tensors) {
        // Weights that stay as they are stored, in 16 bits, are of no type that a pass adds in.
        const bool isAdded = one.isValid() && (one.dtype() == DType::Float32 || one.dtype() == DType::Float64);
        zeros.tensors.push_back(isAdded ? ops::algebra::filledLike(one, 0) : Tensor());
    }
    return zeros;
}

NodeList<Bundle> ModelTape::nodes() const
{
    NodeList<Bundle> list;
    for (auto id = static_cast<Id>(tape.leafCount()); id < tape.size(); ++id) {
        list.push_back(tape.cell(id).node);
    }
    return list;
}

std::string ModelTape::nameOf(Id id) const
{
    return valueOf[id].isValid() ? model->graph().value(valueOf[id]).name : model->graph().labelOf(nodeOf[id]);
}

Result<ModelTape> compileModel(std::shared_ptr<const BoundModel> model, std::span<const Tensor> inputs, ModelRule rule,
                               const std::stop_token& stop)
{
    return Compiler(std::move(model), std::move(rule), stop).compile(inputs);
}

ModelTape outlineModel(std::shared_ptr<const BoundModel> model, ModelRule rule, const std::stop_token& stop)
{
    return Compiler(std::move(model), std::move(rule), stop).outline();
}

} // namespace retro::tape
