// SPDX-License-Identifier: Apache-2.0
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

class Exporter
{
public:
    explicit Exporter(const Graph& graph) : m_graph(graph), m_opsets(graph.opsets()) {}

    Result<ModelProto> run()
    {
        RETRO_CHECK(checkNames());
        RETRO_CHECK(completeOpsets());
        GraphProto& proto = *m_model.mutable_graph();
        proto.set_name(m_graph.name().empty() ? "graph" : m_graph.name());
        writeValues(proto);
        for (const Node& node : m_graph.nodes()) {
            writeNode(node, *proto.add_node());
        }
        for (const auto& [domain, version] : m_opsets) {
            auto& import = *m_model.add_opset_import();
            import.set_domain(domain);
            import.set_version(version);
        }
        m_model.set_ir_version(std::max(m_irVersion, irOfOpset(m_opsets[""])));
        m_model.set_producer_name("Retrograde");
        return std::move(m_model);
    }

private:
    Result<void> checkNames() const
    {
        const std::span<const Value> values = m_graph.values();
        if (std::any_of(values.begin(), values.end(), [](const Value& v) { return v.name.empty(); })) {
            return inputError("a value without a name cannot be written to ONNX, where no name means no value");
        }
        return {};
    }

    /// Domains that only the nodes name. A foreign domain that the model did not import stays that way.
    Result<void> completeOpsets()
    {
        for (const Node& node : m_graph.nodes()) {
            if (m_opsets.contains(node.domain)) {
                continue;
            }
            if (node.opset == 0 && !node.domain.empty()) {
                continue;
            }
            if (node.opset == 0) {
                return inputError("the operator set is not known, so it cannot be written to ONNX",
                                  fmt::format("node '{}' ({})", node.name, node.op));
            }
            m_opsets[node.domain] = node.opset;
        }
        m_opsets.try_emplace("", 1);
        return {};
    }

    void writeValues(GraphProto& proto)
    {
        for (const ValueId id : m_graph.inputs()) {
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

    void writeNode(const Node& node, NodeProto& proto)
    {
        proto.set_op_type(node.op);
        proto.set_name(node.name);
        if (!node.domain.empty()) {
            proto.set_domain(node.domain);
        }
        for (const ValueId id : node.inputs) {
            proto.add_input(nameOf(id));
        }
        for (const ValueId id : node.outputs) {
            proto.add_output(nameOf(id));
        }
        for (const auto& [name, value] : node.attributes) {
            writeAttribute(name, value, *proto.add_attribute());
        }
        if (node.scope != scopeFromName(node.name)) {
            auto& entry = *proto.add_metadata_props();
            entry.set_key(std::string(kScopeKey));
            entry.set_value(node.scope);
            m_irVersion = kIrWithNodeMetadata;
        }
    }

    [[nodiscard]] std::string nameOf(ValueId id) const { return id.isValid() ? m_graph.value(id).name : std::string(); }

    const Graph& m_graph;
    std::map<std::string, std::int64_t> m_opsets;
    ModelProto m_model;
    std::int64_t m_irVersion = kOldestIr;
};

/// Bytes of all tensors: protobuf must not be asked to serialise more than it can.
std::uint64_t constantBytes(const Graph& graph)
{
    std::uint64_t total = 0;
    for (const Value& value : graph.values()) {
        total += value.kind == ValueKind::Constant ? static_cast<std::uint64_t>(value.constant.bytes()) : 0;
    }
    return total;
}

base::Error tooLarge()
{
    return inputError(fmt::format("the model is too large for one ONNX file (at most {} bytes)", kMaxOnnxBytes - 1));
}

} // namespace

Result<std::vector<std::byte>> toOnnx(const Graph& graph)
{
    if (constantBytes(graph) >= kMaxOnnxBytes) {
        return tooLarge();
    }
    RETRO_TRY(const ModelProto model, Exporter(graph).run());
    const std::size_t size = model.ByteSizeLong();
    if (size >= kMaxOnnxBytes) {
        return tooLarge();
    }
    std::vector<std::byte> data(size);
    model.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(data.data()));
    return data;
}

} // namespace retro::formats
