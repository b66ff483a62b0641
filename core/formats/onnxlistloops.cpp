// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxlistloops.h"

#include "core/formats/onnxattributes.h"
#include "core/formats/onnxgraphnames.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxtensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace retro::formats
{

using onnxschema::AttributeProto;
using onnxschema::GraphProto;
using onnxschema::ModelProto;
using onnxschema::NodeProto;
using onnxschema::TensorProto;
using onnxschema::ValueInfoProto;

namespace
{

constexpr std::int64_t kMostPasses = 64;

using List = std::vector<std::string>;

/// What is known while nodes are walked in order. Copied before a loop is tried.
struct Known
{
    std::map<std::string, List> lists;           ///< their elements
    std::map<std::string, std::int64_t> numbers; ///< constants of one whole number or truth value
};

void noteConstant(const std::string& name, const TensorProto& constant, Known& known)
{
    const bool isSingle = constant.dims_size() == 0 || (constant.dims_size() == 1 && constant.dims(0) == 1);
    const auto type = constant.data_type();
    const bool isWhole = type == TensorProto::INT64 || type == TensorProto::INT32 || type == TensorProto::BOOL;
    if (!isSingle || !isWhole) {
        return;
    }
    if (const base::Result<tensor::Tensor> data = fromTensorProto(constant, {}); data.ok() && data->size() == 1) {
        known.numbers[name] = static_cast<std::int64_t>(data->at(0));
    }
}

const GraphProto* loopBody(const NodeProto& loop)
{
    const auto at = std::find_if(loop.attribute().begin(), loop.attribute().end(),
                                 [](const AttributeProto& attribute) { return attribute.name() == "body"; });
    return at == loop.attribute().end() || !at->has_g() ? nullptr : &at->g();
}

class ListWriter
{
public:
    explicit ListWriter(GraphProto& graph) : m_graph(graph)
    {
        for (const TensorProto& constant : graph.initializer()) {
            noteConstant(constant.name(), constant, m_known);
        }
    }

    void run()
    {
        for (NodeProto& node : *m_graph.mutable_node()) {
            take(std::move(node));
        }
        m_graph.mutable_node()->Clear();
        for (NodeProto& node : m_nodes) {
            *m_graph.add_node() = std::move(node);
        }
    }

private:
    void take(NodeProto node)
    {
        if (node.op_type() == "Loop" && writeOut(node)) {
            return;
        }
        note(node);
        m_nodes.push_back(std::move(node));
    }

    /// What a node says of lists and numbers; a list that grew becomes one that is made at once.
    void note(NodeProto& node)
    {
        if (node.output_size() != 1) {
            return;
        }
        const std::string& made = node.output(0);
        if (node.op_type() == "Constant" && node.attribute_size() == 1) {
            noteConstant(made, node.attribute(0).t(), m_known);
        } else if (node.op_type() == "Identity" && m_known.numbers.contains(node.input(0))) {
            m_known.numbers[made] = m_known.numbers.at(node.input(0));
        } else if (node.op_type() == "SequenceEmpty") {
            m_known.lists[made] = {};
        } else if (node.op_type() == "SequenceConstruct") {
            m_known.lists[made] = List(node.input().begin(), node.input().end());
        } else if (node.op_type() == "SequenceInsert") {
            insert(node);
        }
    }

    void insert(NodeProto& node)
    {
        const auto before = m_known.lists.find(node.input(0));
        if (before == m_known.lists.end() || node.input_size() < 2) {
            return;
        }
        List list = before->second;
        auto at = static_cast<std::int64_t>(list.size());
        if (node.input_size() > 2 && !node.input(2).empty()) {
            const auto place = m_known.numbers.find(node.input(2));
            at = place == m_known.numbers.end() ? -1 : place->second + (place->second < 0 ? at : 0);
        }
        if (at < 0 || at > static_cast<std::int64_t>(list.size())) {
            return;
        }
        list.insert(list.begin() + at, node.input(1));
        node.set_op_type("SequenceConstruct");
        node.clear_attribute();
        node.mutable_input()->Assign(list.begin(), list.end());
        m_known.lists[node.output(0)] = std::move(list);
    }

    /// How often a loop goes that carries a known list and makes nothing else but what it carries.
    [[nodiscard]] std::optional<std::int64_t> passesOf(const NodeProto& loop) const
    {
        const GraphProto* body = loopBody(loop);
        if (body == nullptr || loop.input_size() < 3 || body->input_size() != loop.input_size() ||
            body->output_size() != loop.input_size() - 1 || loop.output_size() != loop.input_size() - 2) {
            return std::nullopt;
        }
        const bool carriesList = std::any_of(loop.input().begin() + 2, loop.input().end(),
                                             [this](const auto& name) { return m_known.lists.contains(name); });
        const auto count = m_known.numbers.find(loop.input(0));
        const auto goesOn = m_known.numbers.find(loop.input(1));
        const bool starts = loop.input(1).empty() || (goesOn != m_known.numbers.end() && goesOn->second != 0);
        if (!carriesList || !starts || count == m_known.numbers.end() || count->second < 0 ||
            count->second > kMostPasses) {
            return std::nullopt;
        }
        return count->second;
    }

    /// False, and nothing changed, where the loop is not of that kind.
    bool writeOut(const NodeProto& loop)
    {
        const std::optional<std::int64_t> passes = passesOf(loop);
        if (!passes) {
            return false;
        }
        const Known before = m_known;
        const std::size_t nodes = m_nodes.size();
        const int constants = m_graph.initializer_size();
        List carried(loop.input().begin() + 2, loop.input().end());
        for (std::int64_t pass = 0; pass < *passes; ++pass) {
            if (!addPass(loop, fmt::format("{}/pass {}/", loop.output(0), pass), pass, carried)) {
                m_known = before;
                m_nodes.resize(nodes);
                m_graph.mutable_initializer()->DeleteSubrange(constants, m_graph.initializer_size() - constants);
                return false;
            }
        }
        for (int k = 0; k < loop.output_size(); ++k) {
            handOn(carried[static_cast<std::size_t>(k)], loop.output(k));
        }
        return true;
    }

    /// One pass of the body; false where it may be the last one.
    bool addPass(const NodeProto& loop, const std::string& prefix, std::int64_t pass, List& carried)
    {
        const GraphProto& body = *loopBody(loop);
        Renaming names;
        for (const std::string& own : definedNames(body)) {
            names[own] = prefix + own;
        }
        names[body.input(0).name()] = addConstant(prefix + "number", tensor::Tensor::scalar<std::int64_t>(pass));
        names[body.input(1).name()] = addConstant(prefix + "goes on", tensor::Tensor::full(tensor::DType::Bool, {}, 1));
        for (std::size_t k = 0; k < carried.size(); ++k) {
            names[body.input(static_cast<int>(k) + 2).name()] = carried[k];
        }
        for (const TensorProto& constant : body.initializer()) {
            TensorProto& own = *m_graph.add_initializer();
            own = constant;
            own.set_name(names[constant.name()]);
            noteConstant(own.name(), own, m_known);
        }
        for (NodeProto node : body.node()) {
            rename(node, names);
            node.set_name(node.name().empty() ? std::string() : prefix + node.name());
            take(std::move(node));
        }
        const auto nameOf = [&names](const ValueInfoProto& value) {
            const auto at = names.find(value.name());
            return at == names.end() ? value.name() : at->second;
        };
        for (std::size_t k = 0; k < carried.size(); ++k) {
            carried[k] = nameOf(body.output(static_cast<int>(k) + 1));
        }
        const auto goesOn = m_known.numbers.find(nameOf(body.output(0)));
        return goesOn != m_known.numbers.end() && goesOn->second != 0;
    }

    std::string addConstant(const std::string& name, const tensor::Tensor& value)
    {
        NodeProto node;
        node.set_op_type("Constant");
        node.add_output(name);
        writeAttribute("value", value, *node.add_attribute());
        take(std::move(node));
        return name;
    }

    /// A value under another name; a list is made once more.
    void handOn(const std::string& from, const std::string& to)
    {
        NodeProto node;
        const auto list = m_known.lists.find(from);
        node.set_op_type(list == m_known.lists.end() ? "Identity" : "SequenceConstruct");
        if (list == m_known.lists.end()) {
            node.add_input(from);
        } else {
            node.mutable_input()->Assign(list->second.begin(), list->second.end());
        }
        node.add_output(to);
        take(std::move(node));
    }

    GraphProto& m_graph;
    Known m_known;
    std::vector<NodeProto> m_nodes;
};

} // namespace

void writeOutListLoops(ModelProto& model)
{
    const bool hasList = std::any_of(model.graph().node().begin(), model.graph().node().end(),
                                     [](const NodeProto& node) { return node.op_type().starts_with("Sequence"); });
    if (hasList) {
        ListWriter(*model.mutable_graph()).run();
    }
}

} // namespace retro::formats
