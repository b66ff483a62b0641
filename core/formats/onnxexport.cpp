// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxexport.h"
#include "core/formats/onnx.h"
#include "core/formats/onnxattributes.h"
#include "core/formats/onnxnames.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxtensor.h"
#include "core/formats/onnxtypes.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::formats
{

using base::inputError;
using base::Result;
using graph::Graph;
using graph::Node;
using graph::Value;
using graph::ValueId;
using graph::ValueKind;
using onnxschema::GraphProto;
using onnxschema::ModelProto;
using onnxschema::NodeProto;

namespace
{

constexpr std::int64_t kOldestIr = 8;
constexpr std::int64_t kIrWithNodeMetadata = 10;

/// IR version that first allowed an ai.onnx operator set.
std::int64_t irOfOpset(std::int64_t opset)
{
    constexpr std::pair<std::int64_t, std::int64_t> kFirst[] = {{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}};
    for (const auto& [firstOpset, ir] : kFirst) {
        if (opset >= firstOpset) {
            return ir;
        }
    }
    return kOldestIr;
}

/// Calls `visit` for every node of a graph and of the graphs inside its nodes.
template <class Visit>
void visitNodes(const Graph& graph, const Visit& visit)
{
    for (const Node& node : graph.nodes()) {
        visit(node);
        for (const auto& [name, value] : node.attributes) {
            if (const auto* nested = std::get_if<graph::Subgraph>(&value)) {
                visitNodes(*nested->graph, visit);
            }
        }
    }
}

/// Writes one graph; the last `captured` inputs of a nested one are known by name and not listed.
class GraphWriter
{
public:
    explicit GraphWriter(const Graph& graph) : m_graph(graph) {}

    void write(GraphProto& proto, std::size_t captured = 0)
    {
        proto.set_name(m_graph.name().empty() ? "graph" : m_graph.name());
        writeValues(proto, captured);
        for (const Node& node : m_graph.nodes()) {
            writeNode(node, *proto.add_node());
        }
    }

    /// True when scopes or other metadata were written.
    [[nodiscard]] bool usesMetadata() const { return m_usesMetadata; }

private:
    void writeValues(GraphProto& proto, std::size_t captured)
    {
        const std::span<const ValueId> inputs = m_graph.inputs();
        for (const ValueId id : inputs.first(inputs.size() - captured)) {
            writeType(m_graph.value(id), *proto.add_input());
        }
        for (const ValueId id : m_graph.outputs()) {
            writeType(m_graph.value(id), *proto.add_output());
        }
        const std::span<const ValueId> outputs = m_graph.outputs();
        for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
            const Value& value = m_graph.value(ValueId(i));
            if (value.kind == ValueKind::Constant) {
                onnxschema::TensorProto& tensor = *proto.add_initializer();
                toTensorProto(value.constant, tensor);
                tensor.set_name(value.name);
            } else if (value.kind == ValueKind::Result && value.shape &&
                       std::find(outputs.begin(), outputs.end(), ValueId(i)) == outputs.end()) {
                writeType(value, *proto.add_value_info());
            }
        }
    }

    /// How many of a node's last operands only its nested graphs read.
    static std::size_t capturedBy(const Node& node)
    {
        std::size_t captured = 0;
        for (const auto& [name, value] : node.attributes) {
            const auto* nested = std::get_if<graph::Subgraph>(&value);
            captured = nested != nullptr ? nested->captured : captured;
        }
        return captured;
    }

    void writeNode(const Node& node, NodeProto& proto)
    {
        proto.set_op_type(node.op);
        proto.set_name(node.name);
        if (!node.domain.empty()) {
            proto.set_domain(node.domain);
        }
        const std::span<const ValueId> inputs = node.inputs;
        for (const ValueId id : inputs.first(inputs.size() - capturedBy(node))) {
            proto.add_input(nameOf(id));
        }
        for (const ValueId id : node.outputs) {
            proto.add_output(nameOf(id));
        }
        for (const auto& [name, value] : node.attributes) {
            writeAttributeOrGraph(name, value, *proto.add_attribute());
        }
        if (node.scope != scopeFromName(node.name)) {
            addMetadata(proto, std::string(kScopeKey), node.scope);
        }
        for (const auto& [key, value] : node.metadata) {
            addMetadata(proto, key, value);
        }
    }

    void writeAttributeOrGraph(const std::string& name, const graph::Attribute& value,
                               onnxschema::AttributeProto& proto)
    {
        writeAttribute(name, value, proto);
        if (const auto* nested = std::get_if<graph::Subgraph>(&value)) {
            GraphWriter writer(*nested->graph);
            writer.write(*proto.mutable_g(), nested->captured);
            m_usesMetadata = m_usesMetadata || writer.usesMetadata();
        }
    }

    void addMetadata(NodeProto& proto, const std::string& key, const std::string& value)
    {
        auto& entry = *proto.add_metadata_props();
        entry.set_key(key);
        entry.set_value(value);
        m_usesMetadata = true;
    }

    [[nodiscard]] std::string nameOf(ValueId id) const { return id.isValid() ? m_graph.value(id).name : std::string(); }

    const Graph& m_graph;
    bool m_usesMetadata = false;
};

/// Every value needs a name: in ONNX no name means no value.
Result<void> checkNames(const Graph& graph)
{
    const std::span<const Value> values = graph.values();
    if (std::any_of(values.begin(), values.end(), [](const Value& v) { return v.name.empty(); })) {
        return inputError("a value without a name cannot be written to ONNX, where no name means no value");
    }
    return {};
}

/// The version of each domain, those that only nodes name included. A foreign domain that the model did not import
/// stays that way.
Result<std::map<std::string, std::int64_t>> opsetsOf(const Graph& graph)
{
    std::map<std::string, std::int64_t> opsets = graph.opsets();
    const Node* unknown = nullptr;
    const Node* second = nullptr;
    visitNodes(graph, [&](const Node& node) {
        if (node.opset != 0) {
            const auto at = opsets.try_emplace(node.domain, node.opset).first;
            second = at->second != node.opset ? &node : second;
        } else if (node.domain.empty() && !opsets.contains("")) {
            unknown = &node;
        }
    });
    if (unknown != nullptr) {
        return inputError("the operator set is not known, so it cannot be written to ONNX",
                          fmt::format("node '{}' ({})", unknown->name, unknown->op));
    }
    if (second != nullptr) {
        return inputError(fmt::format("it is of operator set {}, others of the same domain are not; ONNX has one "
                                      "version for all, so the graph cannot be written",
                                      second->opset),
                          fmt::format("node '{}' ({})", second->name, second->op));
    }
    opsets.try_emplace("", 1);
    return opsets;
}

Result<ModelProto> modelOf(const Graph& graph)
{
    RETRO_CHECK(checkNames(graph));
    RETRO_TRY(const auto opsets, opsetsOf(graph));
    ModelProto model;
    GraphWriter writer(graph);
    writer.write(*model.mutable_graph());
    for (const auto& [domain, version] : opsets) {
        auto& import = *model.add_opset_import();
        import.set_domain(domain);
        import.set_version(version);
    }
    const std::int64_t oldest = writer.usesMetadata() ? kIrWithNodeMetadata : kOldestIr;
    model.set_ir_version(std::max(oldest, irOfOpset(opsets.at(""))));
    model.set_producer_name("Retrograde");
    return model;
}

/// Bytes of all tensors: protobuf must not be asked to serialise more than it can.
std::uint64_t constantBytes(const Graph& graph)
{
    std::uint64_t total = 0;
    for (const Value& value : graph.values()) {
        total += value.kind == ValueKind::Constant ? static_cast<std::uint64_t>(value.constant.bytes()) : 0;
    }
    return total;
}

base::Error tooLargeForOneFile()
{
    return inputError(fmt::format("the model is too large for one ONNX file (at most {} bytes)", kMaxOnnxBytes - 1));
}

} // namespace

Result<std::vector<std::byte>> toOnnx(const Graph& graph) { return toOnnx(graph, {}); }

Result<std::vector<std::byte>> toOnnx(const Graph& graph, const std::map<std::string, std::string>& metadata)
{
    if (constantBytes(graph) >= kMaxOnnxBytes) {
        return tooLargeForOneFile();
    }
    RETRO_TRY(ModelProto model, modelOf(graph));
    for (const auto& [key, value] : metadata) {
        auto& entry = *model.add_metadata_props();
        entry.set_key(key);
        entry.set_value(value);
    }
    const std::size_t size = model.ByteSizeLong();
    if (size >= kMaxOnnxBytes) {
        return tooLargeForOneFile();
    }
    std::vector<std::byte> data(size);
    model.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(data.data()));
    return data;
}

} // namespace retro::formats
