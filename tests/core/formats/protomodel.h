// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/formats/onnx.h"
#include "core/formats/onnxattributes.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxtensor.h"
#include "core/tensor/tensor.h"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace retro::tests
{

using tensor::Shape;
using tensor::Tensor;

/// A model as a file has it, node by node.
class ProtoModel
{
public:
    using Names = std::vector<std::string>;

    explicit ProtoModel(std::int64_t opset = 20)
    {
        m_model.set_ir_version(9);
        m_model.mutable_graph()->set_name("model");
        import("", opset);
        import("com.microsoft", 1);
        import("ai.onnx.ml", 3);
    }

    ProtoModel& input(const std::string& name, const Shape& shape)
    {
        declare(*m_model.mutable_graph()->add_input(), name, shape);
        return *this;
    }
    ProtoModel& constant(const std::string& name, const Tensor& data)
    {
        auto& constant = *m_model.mutable_graph()->add_initializer();
        formats::toTensorProto(data, constant);
        constant.set_name(name);
        return *this;
    }
    ProtoModel& texts(const std::string& name, const Names& values)
    {
        auto& constant = *m_model.mutable_graph()->add_initializer();
        constant.set_name(name);
        constant.set_data_type(onnxschema::TensorProto::STRING);
        constant.add_dims(static_cast<std::int64_t>(values.size()));
        for (const std::string& value : values) {
            constant.add_string_data(value);
        }
        return *this;
    }
    /// "Conv", or "com.microsoft:FusedConv".
    ProtoModel& node(const std::string& op, const Names& inputs, const Names& outputs,
                     const graph::Attributes& attributes = {})
    {
        auto& node = *m_model.mutable_graph()->add_node();
        const std::size_t colon = op.find(':');
        node.set_domain(colon == std::string::npos ? std::string() : op.substr(0, colon));
        node.set_op_type(colon == std::string::npos ? op : op.substr(colon + 1));
        node.set_name(outputs.front() + "/made");
        node.mutable_input()->Add(inputs.begin(), inputs.end());
        node.mutable_output()->Add(outputs.begin(), outputs.end());
        for (const auto& [name, value] : attributes) {
            auto& attribute = *node.add_attribute();
            formats::writeAttribute(name, value, attribute);
            if (const auto* nested = std::get_if<graph::Subgraph>(&value)) {
                writeNested(*nested, attribute);
            }
        }
        return *this;
    }
    /// A result whose shape the file does not say.
    ProtoModel& output(const std::string& name)
    {
        auto& value = *m_model.mutable_graph()->add_output();
        value.set_name(name);
        value.mutable_type()->mutable_tensor_type()->set_elem_type(onnxschema::TensorProto::FLOAT);
        return *this;
    }
    onnxschema::ModelProto& proto() { return m_model; }

    [[nodiscard]] std::vector<std::byte> bytes() const
    {
        const std::string text = m_model.SerializeAsString();
        const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
        return {bytes.begin(), bytes.end()};
    }

private:
    void import(const std::string& domain, std::int64_t version)
    {
        auto& opset = *m_model.add_opset_import();
        opset.set_domain(domain);
        opset.set_version(version);
    }
    /// What it captures stands in the graph around it, by the same names.
    static void writeNested(const graph::Subgraph& nested, onnxschema::AttributeProto& attribute)
    {
        const auto bytes = formats::toOnnx(*nested.graph);
        onnxschema::ModelProto whole;
        if (!bytes.ok() || !whole.ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) {
            throw std::logic_error("the graph inside a node cannot be written");
        }
        *attribute.mutable_g() = std::move(*whole.mutable_graph());
        auto& inputs = *attribute.mutable_g()->mutable_input();
        const int captured = static_cast<int>(nested.captured);
        inputs.DeleteSubrange(inputs.size() - captured, captured);
    }
    static void declare(onnxschema::ValueInfoProto& value, const std::string& name, const Shape& shape)
    {
        value.set_name(name);
        auto& type = *value.mutable_type()->mutable_tensor_type();
        type.set_elem_type(onnxschema::TensorProto::FLOAT);
        for (const std::int64_t extent : shape) {
            type.mutable_shape()->add_dim()->set_dim_value(extent);
        }
    }

    onnxschema::ModelProto m_model;
};

/// Numbers that look drawn: between −1 and 1, no two alike, the same everywhere.
inline Tensor wavy(const Shape& shape, double phase)
{
    std::vector<float> values;
    for (std::int64_t i = 0; i < tensor::elementCount(shape); ++i) {
        values.push_back(static_cast<float>(std::sin(phase + 1.7 * static_cast<double>(i))));
    }
    return Tensor::of<float>(shape, values);
}

} // namespace retro::tests
