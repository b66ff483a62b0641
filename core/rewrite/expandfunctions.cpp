// SPDX-License-Identifier: Apache-2.0
#include "core/ops/layerkind.h"
#include "core/ops/registry.h"
#include "core/rewrite/body/functionbody.h"
#include "core/rewrite/passes.h"
#include "core/rewrite/splice.h"
#include "core/rewrite/statictypes.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::rewrite
{

using graph::Node;

namespace
{

using Types = std::vector<std::optional<ops::TensorType>>;

class Expander
{
public:
    explicit Expander(Draft& draft) : m_draft(draft) {}

    /// What was done or why not; nothing for a node that has no body.
    [[nodiscard]] std::optional<RewriteStep> expand(NodeId id)
    {
        const Node node = m_draft.node(id);
        const ops::OperatorDeclaration* known = ops::find(node.domain, node.op, node.opset);
        if (known == nullptr || known->structure.find("composed") == std::string_view::npos) {
            return std::nullopt;
        }
        const base::Result<FunctionBody> body = bodyOf(id, node);
        if (!body.ok()) {
            return note(fmt::format("{} ({}) stays whole: {}", node.name, node.op, body.error().message));
        }
        if (holdsBack(*body->graph)) {
            return note(
                fmt::format("{} ({}) stays whole: its steps hold relevance back, and would hold gradients back, too",
                            node.name, node.op));
        }
        if (const std::optional<std::string> lacking = lackingResult(node, *body)) {
            return note(fmt::format("{} ({}) stays whole: its steps do not make {}", node.name, node.op, *lacking));
        }
        return put(id, node, *body);
    }

private:
    static RewriteStep note(std::string text) { return {"expand functions", std::move(text), {}, {}, true}; }

    static bool holdsBack(const graph::Graph& body)
    {
        return std::any_of(body.nodes().begin(), body.nodes().end(),
                           [](const Node& inner) { return inner.domain == "retrograde" && inner.op == "Detach"; });
    }

    const Types& types()
    {
        if (!m_isInferred) {
            m_types = staticTypes(m_draft.before(), {});
            m_isInferred = true;
        }
        return m_types;
    }

    /// The data of a constant, or of what depends on constants alone; invalid for others.
    [[nodiscard]] tensor::Tensor constantOf(ValueId value)
    {
        if (m_draft.isConstant(value)) {
            return m_draft.value(value).constant;
        }
        if (!m_folded) {
            m_folded.emplace(m_draft.before());
            std::vector<RewriteStep> steps;
            foldConstants(*m_folded, steps);
        }
        const bool isOld = value.index() < m_draft.before().valueCount();
        return isOld && m_folded->isConstant(value) ? m_folded->value(value).constant : tensor::Tensor();
    }

    /// What is computed of constants is rounded once, so the body gets all their digits.
    [[nodiscard]] BodyOperand operandOf(ValueId value, const ops::TensorType& type)
    {
        BodyOperand operand{type, {}, true, false};
        if (const tensor::Tensor data = constantOf(value); data.isValid()) {
            operand.constant = tensor::isFloating(data.dtype()) ? data.to(tensor::DType::Float64) : data;
        }
        return operand;
    }

    base::Result<FunctionBody> bodyOf(NodeId id, const Node& node)
    {
        std::vector<BodyOperand> operands(node.inputs.size());
        std::vector<ops::TensorType> bound(operands.size());
        std::vector<tensor::Tensor> constants(operands.size());
        for (std::size_t slot = 0; slot < operands.size(); ++slot) {
            operands[slot].isGiven = node.inputs[slot].isValid();
            if (!operands[slot].isGiven) {
                continue;
            }
            const auto& type = types()[node.inputs[slot].index()];
            if (!type) {
                return base::inputError(
                    fmt::format("the shape of operand {} does not follow from the declared ones; fix the shapes of the "
                                "inputs in the model",
                                slot));
            }
            operands[slot] = operandOf(node.inputs[slot], *type);
            bound[slot] = *type;
            const tensor::Tensor& data = operands[slot].constant;
            constants[slot] = data.isValid() ? data.to(type->dtype) : data;
        }
        RETRO_TRY(const auto op, ops::bind({m_draft.before(), id, node, bound, constants}));
        return functionBody(node, operands);
    }

    [[nodiscard]] std::optional<std::string> lackingResult(const Node& node, const FunctionBody& body) const
    {
        for (std::size_t k = 0; k < node.outputs.size(); ++k) {
            const ValueId value = node.outputs[k];
            const bool isRead = value.isValid() && (m_draft.readerCount(value) > 0 || m_draft.isOutput(value));
            if (isRead && std::find(body.results.begin(), body.results.end(), k) == body.results.end()) {
                return m_draft.value(value).name;
            }
        }
        return std::nullopt;
    }

    /// A linear layer with a bias as the standard writes it: fuse-linear makes one of the two again.
    void splitLinear(NodeId id, RewriteStep& step)
    {
        const Node layer = m_draft.node(id);
        if (!ops::isLinearLayer(layer) || layer.inputs.size() != 3) {
            return;
        }
        Node product = layer;
        product.domain.clear();
        product.opset = 13;
        product.name = layer.name + "/product";
        product.inputs.pop_back();
        product.outputs = {m_draft.addResult(m_draft.value(layer.outputs[0]).name + "/product",
                                             m_draft.value(layer.outputs[0]).dtype)};
        Node sum = layer;
        sum.domain.clear();
        sum.op = "Add";
        sum.opset = 13;
        sum.inputs = {product.outputs[0], layer.inputs[2]};
        step.added.push_back(product.name);
        m_draft.addNode(std::move(product));
        m_draft.replaceNode(id, std::move(sum));
    }

    [[nodiscard]] std::optional<tensor::DType> floatTypeOf(const Node& node) const
    {
        const tensor::DType type = m_draft.value(node.inputs.front()).dtype;
        return tensor::isFloating(type) ? std::optional(type) : std::nullopt;
    }

    RewriteStep put(NodeId id, const Node& node, const FunctionBody& body)
    {
        const std::size_t first = m_draft.nodeCount();
        RewriteStep step;
        step.rewrite = "expand functions";
        step.removed = {node.name};
        std::vector<ValueId> inputs;
        for (const std::size_t slot : body.operands) {
            inputs.push_back(node.inputs[slot]);
        }
        const std::vector<ValueId> results =
            splice(m_draft, {*body.graph, inputs, {}, node.scope, floatTypeOf(node)}, step.added);
        m_draft.removeNode(id);
        for (std::size_t i = first, end = m_draft.nodeCount(); i < end; ++i) {
            splitLinear(NodeId(i), step);
        }
        for (std::size_t i = 0; i < body.results.size(); ++i) {
            const std::size_t k = body.results[i];
            if (k < node.outputs.size() && node.outputs[k].isValid()) {
                step.added.push_back(
                    addIdentity(m_draft, results[i], node.outputs[k], fmt::format("{}/out{}", node.name, k)));
            }
        }
        step.text = fmt::format("{} ({}) → {}", node.name, node.op, counted(step.added.size(), "node"));
        return step;
    }

    Draft& m_draft;
    Types m_types;
    std::optional<Draft> m_folded; ///< the graph before, with what depends on constants alone computed
    bool m_isInferred = false;
};

} // namespace

void expandFunctions(Draft& draft, std::vector<RewriteStep>& steps)
{
    Expander expander(draft);
    const std::size_t count = draft.nodeCount(); // nodes of bodies are not expanded again
    for (std::size_t i = 0; i < count && !draft.isStopped(); ++i) {
        if (draft.isRemoved(NodeId(i))) {
            continue;
        }
        if (std::optional<RewriteStep> step = expander.expand(NodeId(i))) {
            steps.push_back(std::move(*step));
        }
    }
}

} // namespace retro::rewrite
