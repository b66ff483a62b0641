// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/composite/firstlayer.h"

#include "core/lrp/rules/decomposedrule.h"

#include <algorithm>
#include <optional>

namespace retro::lrp
{

using execute::BoundModel;
using execute::NodeId;
using execute::ValueId;

namespace
{

/// Names of the operators that a rewrite wrote out in steps: their nodes are named NAME/….
std::vector<std::string> writtenOut(const rewrite::Rewritten& rewritten)
{
    std::vector<std::string> names;
    for (const rewrite::RewriteStep& step : rewritten.steps) {
        if (step.name == "expand-functions" && !step.isNote && step.removed != step.added) {
            names.push_back(step.removed.front());
        }
    }
    return names;
}

/// Among the nodes of a graph; 0 for one that it does not have.
std::size_t placeIn(const graph::Graph& graph, const std::string& name)
{
    const auto found = graph.findNode(name);
    return found ? found->index() : 0;
}

/// The steps of one operator in a graph that has them as nodes of their own: NAME/….
class WrittenOut
{
public:
    WrittenOut(const rewrite::Rewritten& rewritten, std::string name)
        : m_before(*rewritten.before), m_name(std::move(name)), m_prefix(m_name + "/")
    {}

    [[nodiscard]] bool has(const graph::Node& node) const
    {
        return node.name.starts_with(m_prefix) && !m_before.findNode(node.name);
    }
    /// Of the operator, among the nodes of the file.
    [[nodiscard]] std::size_t place() const { return placeIn(m_before, m_name); }

private:
    const graph::Graph& m_before;
    std::string m_name;
    std::string m_prefix;
};

/// True where the operator is taken apart and a linear map inside fits.
bool hasInside(const BoundModel& model, NodeId id, const FitsNode& fits)
{
    if (model.op(id).structure().kind() != ops::StructureKind::Composed) {
        return false;
    }
    const base::Result<rewrite::FunctionBody> body = bodyOf(model, id);
    if (!body) {
        return false;
    }
    std::vector<ops::TensorType> types;
    for (const std::size_t slot : body->operands) {
        types.push_back(model.typeOf(model.graph().node(id).inputs[slot]));
    }
    const auto inside = BoundModel::bind(body->graph, types, execute::insideOf(model.precision()));
    return inside.ok() && !readingMaps(**inside, fits, [](NodeId) { return true; }).empty();
}

/// `first` or, where it is a step of an operator that was written out, all maps of that operator which read what it
/// reads; those of another operator that stood before it in the file, whose steps stand behind it now.
FirstLayer inPlaceOrder(const BoundModel& model, NodeId first, const FitsNode& fits,
                        const rewrite::Rewritten* rewritten)
{
    const graph::Graph& graph = model.graph();
    FirstLayer found{{first}, {}};
    std::vector<WrittenOut> operators;
    for (std::string& name : rewritten == nullptr ? std::vector<std::string>() : writtenOut(*rewritten)) {
        operators.emplace_back(*rewritten, std::move(name));
    }
    const auto isInside = [&](const WrittenOut& steps) { return steps.has(graph.node(first)); };
    const auto holder = std::ranges::find_if(operators, isInside);
    std::size_t place = holder != operators.end() ? holder->place()
                        : operators.empty()       ? 0
                                                  : placeIn(*rewritten->before, graph.node(first).name);
    for (const WrittenOut& steps : operators) {
        std::vector<NodeId> maps = readingMaps(model, fits, [&](NodeId id) { return steps.has(graph.node(id)); });
        if (!maps.empty() && (steps.place() < place || (isInside(steps) && steps.place() == place))) {
            found.maps = std::move(maps);
            place = steps.place();
        }
    }
    return found;
}

} // namespace

std::vector<NodeId> readingMaps(const BoundModel& model, const FitsNode& fits,
                                const std::function<bool(NodeId)>& isInside)
{
    const graph::Graph& graph = model.graph();
    std::vector<bool> isFromOutside(graph.valueCount(), false);
    std::vector<NodeId> maps;
    const auto reads = [&](ValueId value) {
        const bool isTracked = value.isValid() && model.isTracked(value);
        const NodeId maker = isTracked ? graph.nodeOf(value) : NodeId();
        return isTracked && (graph.isInput(maker) || !isInside(maker) || isFromOutside[value.index()]);
    };
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const graph::Node& node = graph.node(id);
        if (!isInside(id) || std::ranges::none_of(node.inputs, reads)) {
            continue;
        }
        if (fits(model, id)) {
            maps.push_back(id);
            continue;
        }
        for (const ValueId output : node.outputs) {
            if (output.isValid()) {
                isFromOutside[output.index()] = true;
            }
        }
    }
    return maps;
}

FirstLayer firstLayer(const BoundModel& model, const std::vector<bool>& isBelow, const FitsNode& fits,
                      const rewrite::Rewritten* rewritten)
{
    const graph::Graph& graph = model.graph();
    const FitsNode fitsBelow = [&](const BoundModel& of, NodeId id) { return isBelow[id.index()] && fits(of, id); };
    std::optional<NodeId> first;
    for (std::size_t i = 0; i < graph.nodeCount() && !first; ++i) {
        if (isBelow[i] && hasInside(model, NodeId(i), fits)) {
            return {{}, NodeId(i)};
        }
        if (fitsBelow(model, NodeId(i))) {
            first = NodeId(i);
        }
    }
    return first ? inPlaceOrder(model, *first, fitsBelow, rewritten) : FirstLayer();
}

} // namespace retro::lrp
