// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/standardnodes.h"

#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"
#include "core/rewrite/draft.h"
#include "core/rewrite/statictypes.h"

#include <algorithm>
#include <array>
#include <numbers>
#include <optional>

namespace retro::engine
{

using base::Result;
using graph::Node;
using graph::NodeId;
using graph::ValueId;

namespace
{

/// Axes of ReduceMean are an operand from here on.
constexpr std::int64_t kMeanTakesAxes = 18;
constexpr double kTanhCube = 0.044715;

/// Writes what one node does in others, the last of which takes its place, name and result.
class Steps
{
public:
    Steps(rewrite::Draft& draft, NodeId id, std::int64_t opset)
        : m_draft(draft), m_id(id), m_node(draft.node(id)), m_type(draft.value(m_node.outputs.front()).dtype),
          m_opset(opset)
    {}

    [[nodiscard]] const Node& node() const { return m_node; }
    [[nodiscard]] ValueId x() const { return m_node.inputs.front(); }

    ValueId number(double value)
    {
        return m_draft.addConstant(m_node.name + "/number", tensor::Tensor::scalar(value), m_type);
    }

    ValueId add(const std::string& op, std::vector<ValueId> inputs, graph::Attributes attributes = {})
    {
        const ValueId result = m_draft.addResult(m_node.name + "/" + op, m_type);
        m_draft.addNode(made(op, m_draft.value(result).name, std::move(inputs), result, std::move(attributes)));
        return result;
    }

    void finish(const std::string& op, std::vector<ValueId> inputs)
    {
        m_draft.replaceNode(m_id, made(op, m_node.name, std::move(inputs), m_node.outputs.front(), {}));
    }

    ValueId mean(ValueId value, std::int64_t firstAxis, std::int64_t rank)
    {
        std::vector<std::int64_t> axes;
        for (std::int64_t axis = firstAxis; axis < rank; ++axis) {
            axes.push_back(axis);
        }
        if (m_opset < kMeanTakesAxes) {
            return add("ReduceMean", {value}, {{"axes", axes}});
        }
        const auto count = static_cast<std::int64_t>(axes.size());
        const ValueId list = m_draft.addConstant(m_node.name + "/axes", tensor::Tensor::of<std::int64_t>({count}, axes),
                                                 tensor::DType::Int64);
        return add("ReduceMean", {value, list});
    }

private:
    [[nodiscard]] Node made(const std::string& op, const std::string& name, std::vector<ValueId> inputs, ValueId result,
                            graph::Attributes attributes) const
    {
        Node node;
        node.op = op;
        node.name = name;
        node.scope = m_node.scope;
        node.opset = m_opset;
        node.inputs = std::move(inputs);
        node.outputs = {result};
        node.attributes = std::move(attributes);
        return node;
    }

    rewrite::Draft& m_draft;
    NodeId m_id;
    Node m_node; // a copy: the draft's moves
    tensor::DType m_type;
    std::int64_t m_opset;
};

/// ½·x·(1 + erf(x/√2)), or the same with tanh.
void writeGelu(Steps& steps, std::int64_t /*rank*/)
{
    const ValueId x = steps.x();
    ValueId bent;
    if (graph::attributeOr<std::string>(steps.node(), "approximate", "none") == "tanh") {
        const ValueId cube = steps.add("Mul", {steps.add("Mul", {x, x}), x});
        const ValueId sum = steps.add("Add", {x, steps.add("Mul", {cube, steps.number(kTanhCube)})});
        const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
        bent = steps.add("Tanh", {steps.add("Mul", {sum, steps.number(scale)})});
    } else {
        bent = steps.add("Erf", {steps.add("Mul", {x, steps.number(std::numbers::sqrt2 / 2)})});
    }
    const ValueId half = steps.add("Mul", {x, steps.number(0.5)});
    steps.finish("Mul", {half, steps.add("Add", {bent, steps.number(1)})});
}

/// x·σ(αx).
void writeSwish(Steps& steps, std::int64_t /*rank*/)
{
    const double alpha = graph::floatAttribute(steps.node(), "alpha", 1);
    const ValueId inner = alpha == 1 ? steps.x() : steps.add("Mul", {steps.x(), steps.number(alpha)});
    steps.finish("Mul", {steps.x(), steps.add("Sigmoid", {inner})});
}

/// x·tanh(softplus(x)).
void writeMish(Steps& steps, std::int64_t /*rank*/)
{
    steps.finish("Mul", {steps.x(), steps.add("Tanh", {steps.add("Softplus", {steps.x()})})});
}

/// x, or what is left of it behind its mean, by the root of its mean square, then scale and bias.
void writeNormalisation(Steps& steps, std::int64_t rank)
{
    const Node& node = steps.node();
    const std::int64_t given = graph::intAttribute(node, "axis", -1);
    const std::int64_t axis = given < 0 ? given + rank : given;
    const bool isCentred = ops::isLayerNormalisation(node);
    const ValueId x = isCentred ? steps.add("Sub", {steps.x(), steps.mean(steps.x(), axis, rank)}) : steps.x();
    const ValueId square = steps.mean(steps.add("Mul", {x, x}), axis, rank);
    const double epsilon = graph::floatAttribute(node, "epsilon", 1e-5);
    const ValueId root = steps.add("Sqrt", {steps.add("Add", {square, steps.number(epsilon)})});
    const ValueId normal = steps.add("Div", {x, root});
    if (node.inputs.size() < 3 || !node.inputs[2].isValid()) {
        steps.finish("Mul", {normal, node.inputs[1]});
        return;
    }
    steps.finish("Add", {steps.add("Mul", {normal, node.inputs[1]}), node.inputs[2]});
}

/// An operator that the bodies of operators of many steps are written with and old operator sets have not.
struct Newer
{
    std::string_view op;
    std::int64_t sinceOpset; ///< of the standard; some files have it before
    void (*write)(Steps&, std::int64_t rank);
};

constexpr std::array kNewer{Newer{"Gelu", 20, writeGelu}, Newer{"Mish", 18, writeMish}, Newer{"Swish", 24, writeSwish},
                            Newer{"LayerNormalization", 17, writeNormalisation},
                            Newer{"RMSNormalization", 23, writeNormalisation}};

/// The standard's name of one of our own operators that it has as well; empty for others.
std::string_view standardName(const Node& node)
{
    const std::string_view name = node.op == "Gate" ? "Mul" : (node.op == "Gather" ? "Gather" : "");
    return node.domain == "retrograde" ? name : std::string_view();
}

/// How a node that the graph's operator set has not is written; null for others.
const Newer* newerThan(const Node& node, std::int64_t opset)
{
    if (!node.domain.empty() || node.opset <= opset || node.outputs.size() != 1) {
        return nullptr;
    }
    const auto at = std::ranges::find(kNewer, node.op, &Newer::op);
    return at == kNewer.end() || opset >= at->sinceOpset ? nullptr : &*at;
}

class Standardiser
{
public:
    explicit Standardiser(const graph::Graph& graph) : m_graph(graph), m_draft(graph), m_opset(graph.opset()) {}

    Result<std::shared_ptr<const graph::Graph>> write()
    {
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            const Node& node = m_graph.node(NodeId(i));
            if (!standardName(node).empty()) {
                putStandard(NodeId(i));
            } else if (const Newer* newer = newerThan(node, m_opset)) {
                putSteps(NodeId(i), *newer);
            }
        }
        RETRO_TRY(graph::Graph standard, m_draft.build());
        return std::make_shared<const graph::Graph>(std::move(standard));
    }

private:
    void putStandard(NodeId id)
    {
        Node node = m_graph.node(id);
        node.op = standardName(node);
        node.domain.clear();
        node.opset = 13;
        m_draft.replaceNode(id, std::move(node));
    }

    void putSteps(NodeId id, const Newer& newer)
    {
        if (!m_types) {
            m_types = rewrite::staticTypes(m_graph, {});
        }
        const ValueId x = m_graph.node(id).inputs.front();
        const auto& type = (*m_types)[x.index()];
        const auto& declared = m_graph.value(x).shape; // has the rank, also where extents are free
        if (type || declared) {
            Steps steps(m_draft, id, m_opset);
            newer.write(steps, static_cast<std::int64_t>(type ? type->shape.size() : declared->size()));
        }
    }

    const graph::Graph& m_graph;
    rewrite::Draft m_draft;
    std::int64_t m_opset;
    std::optional<std::vector<std::optional<ops::TensorType>>> m_types;
};

} // namespace

Result<std::shared_ptr<const graph::Graph>> withStandardNodes(std::shared_ptr<const graph::Graph> graph)
{
    const std::int64_t opset = graph->opset();
    const auto isOther = [opset](const Node& node) {
        return !standardName(node).empty() || newerThan(node, opset) != nullptr;
    };
    return std::ranges::any_of(graph->nodes(), isOther) ? Standardiser(*graph).write()
                                                        : Result<std::shared_ptr<const graph::Graph>>(graph);
}

} // namespace retro::engine
