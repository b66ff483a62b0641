// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxsequences.h"

#include "core/formats/onnxattributes.h"
#include "core/formats/onnxgraphnames.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxtensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

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

/// Version since which axes of Unsqueeze are an operand.
constexpr std::int64_t kAxesAreOperand = 13;

std::int64_t integerOf(const NodeProto& node, std::string_view name, std::int64_t fallback)
{
    const auto at = std::find_if(node.attribute().begin(), node.attribute().end(),
                                 [name](const AttributeProto& attribute) { return attribute.name() == name; });
    return at == node.attribute().end() ? fallback : at->i();
}

bool makesSequence(const NodeProto& node)
{
    return node.output_size() == 1 && (node.op_type() == "SplitToSequence" || node.op_type() == "SequenceConstruct" ||
                                       node.op_type() == "SequenceEmpty");
}

class Unpacker
{
public:
    explicit Unpacker(ModelProto& model) : m_graph(*model.mutable_graph())
    {
        for (const auto& import : model.opset_import()) {
            m_opset = import.domain().empty() ? import.version() : m_opset;
        }
        for (const NodeProto& node : m_graph.node()) {
            if (makesSequence(node)) {
                m_makers.emplace(node.output(0), node);
            }
        }
        if (!m_makers.empty()) {
            readPositions();
        }
    }

    void run()
    {
        if (m_makers.empty()) {
            return;
        }
        google::protobuf::RepeatedPtrField<NodeProto> nodes;
        for (NodeProto& node : *m_graph.mutable_node()) {
            unpack(node, nodes);
        }
        m_graph.mutable_node()->Swap(&nodes);
        dropUnread();
    }

private:
    using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

    /// Integers of one element, which may say where in a list something is.
    void readPositions()
    {
        for (const TensorProto& constant : m_graph.initializer()) {
            readPosition(constant.name(), constant);
        }
        for (const NodeProto& node : m_graph.node()) {
            if (node.op_type() == "Constant" && node.output_size() == 1 && node.attribute_size() == 1) {
                readPosition(node.output(0), node.attribute(0).t());
            }
        }
    }

    void readPosition(const std::string& name, const TensorProto& constant)
    {
        const bool isSingle = constant.dims_size() == 0 || (constant.dims_size() == 1 && constant.dims(0) == 1);
        if (!isSingle || (constant.data_type() != TensorProto::INT64 && constant.data_type() != TensorProto::INT32)) {
            return;
        }
        const base::Result<tensor::Tensor> data = fromTensorProto(constant, {});
        if (data.ok() && data->size() == 1) {
            m_positions[name] = static_cast<std::int64_t>(data->at(0));
        }
    }

    void unpack(NodeProto& node, Nodes& nodes)
    {
        const auto maker = node.input_size() > 0 ? m_makers.find(node.input(0)) : m_makers.end();
        if (maker == m_makers.end() || node.output_size() != 1 || makesSequence(node)) {
            nodes.Add(std::move(node));
            return;
        }
        const bool isList = maker->second.op_type() == "SequenceConstruct";
        if (node.op_type() == "SequenceAt" && node.input_size() == 2) {
            isList ? pickOperand(node, maker->second) : pickSlice(node, maker->second, nodes);
        } else if (node.op_type() == "ConcatFromSequence" && isList) {
            join(node, maker->second, nodes);
        } else if (node.op_type() == "SequenceLength" && isList) {
            count(node, maker->second);
        }
        nodes.Add(std::move(node));
    }

    /// Slices of extent 1, with the axis or without it.
    void pickSlice(NodeProto& node, const NodeProto& maker, Nodes& nodes) const
    {
        if (maker.input_size() != 1) {
            return; // the extents of the parts are given
        }
        std::string position = node.input(1);
        if (integerOf(maker, "keepdims", 1) != 0) {
            position = unsqueezed(position, node.output(0) + "/position", node.output(0) + "/axis", 0, nodes);
            addAxis(node.output(0) + "/axis", 0, nodes);
        }
        const std::int64_t axis = integerOf(maker, "axis", 0);
        node.set_op_type("Gather");
        node.set_input(0, maker.input(0));
        node.set_input(1, position);
        node.clear_attribute();
        writeAttribute("axis", axis, *node.add_attribute());
    }

    /// The value with one more axis: where the constant `axisName` says, which addAxis() makes, or an attribute.
    std::string unsqueezed(const std::string& value, const std::string& name, const std::string& axisName,
                           std::int64_t axis, Nodes& nodes) const
    {
        NodeProto& wide = *nodes.Add();
        wide.set_op_type("Unsqueeze");
        wide.add_input(value);
        wide.add_output(name);
        if (m_opset < kAxesAreOperand) {
            writeAttribute("axes", std::vector<std::int64_t>{axis}, *wide.add_attribute());
        } else {
            wide.add_input(axisName);
        }
        return name;
    }

    void addAxis(const std::string& name, std::int64_t axis, Nodes& nodes) const
    {
        if (m_opset >= kAxesAreOperand) {
            addList(name, axis, nodes);
        }
    }

    static void addList(const std::string& name, std::int64_t number, Nodes& nodes)
    {
        NodeProto& list = *nodes.Add();
        list.set_op_type("Constant");
        list.add_output(name);
        writeAttribute("value_ints", std::vector<std::int64_t>{number}, *list.add_attribute());
    }

    void pickOperand(NodeProto& node, const NodeProto& maker) const
    {
        const auto at = m_positions.find(node.input(1));
        if (at == m_positions.end()) {
            return;
        }
        std::int64_t position = at->second;
        position += position < 0 ? maker.input_size() : 0;
        if (position < 0 || position >= maker.input_size()) {
            return;
        }
        node.set_op_type("Identity");
        node.clear_input();
        node.add_input(maker.input(static_cast<int>(position)));
    }

    void join(NodeProto& node, const NodeProto& maker, Nodes& nodes) const
    {
        const std::int64_t axis = integerOf(node, "axis", 0);
        const bool isNewAxis = integerOf(node, "new_axis", 0) != 0;
        node.set_op_type("Concat");
        node.clear_input();
        node.clear_attribute();
        writeAttribute("axis", axis, *node.add_attribute());
        const std::string axisName = node.output(0) + "/axis";
        for (int i = 0; i < maker.input_size(); ++i) {
            const std::string part = fmt::format("{}/part {}", node.output(0), i);
            node.add_input(isNewAxis ? unsqueezed(maker.input(i), part, axisName, axis, nodes) : maker.input(i));
        }
        if (isNewAxis) {
            addAxis(axisName, axis, nodes);
        }
    }

    static void count(NodeProto& node, const NodeProto& maker)
    {
        node.set_op_type("Constant");
        node.clear_input();
        node.clear_attribute();
        writeAttribute("value_int", std::int64_t{maker.input_size()}, *node.add_attribute());
    }

    void dropUnread()
    {
        std::unordered_set<std::string> read;
        for (const NodeProto& node : m_graph.node()) {
            read.insert(node.input().begin(), node.input().end());
            const auto captured = capturedNames(node);
            read.insert(captured.begin(), captured.end());
        }
        for (const ValueInfoProto& output : m_graph.output()) {
            read.insert(output.name());
        }
        auto& nodes = *m_graph.mutable_node();
        nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                                   [&read](const NodeProto& node) {
                                       return makesSequence(node) && !read.contains(node.output(0));
                                   }),
                    nodes.end());
        auto& declared = *m_graph.mutable_value_info();
        declared.erase(std::remove_if(declared.begin(), declared.end(),
                                      [this](const ValueInfoProto& value) { return m_makers.contains(value.name()); }),
                       declared.end());
    }

    GraphProto& m_graph;
    std::map<std::string, std::int64_t> m_positions;
    std::map<std::string, NodeProto> m_makers;
    std::int64_t m_opset = 0; ///< of ai.onnx
};

} // namespace

void unpackSequences(ModelProto& model) { Unpacker(model).run(); }

} // namespace retro::formats
