// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxattributes.h"

#include "core/formats/onnxnames.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxsparse.h"
#include "core/formats/onnxtensor.h"

#include <fmt/format.h>

namespace retro::formats
{

using base::inputError;
using base::Result;
using graph::Attribute;
using onnxschema::AttributeProto;
using onnxschema::NodeProto;
using tensor::Tensor;

namespace
{

/// Files of the first IR version leave the type out: the field that is filled tells it.
AttributeProto::AttributeType typeOf(const AttributeProto& proto)
{
    if (proto.type() != AttributeProto::UNDEFINED) {
        return proto.type();
    }
    const std::pair<bool, AttributeProto::AttributeType> filled[] = {
        {proto.has_f(), AttributeProto::FLOAT},
        {proto.has_i(), AttributeProto::INT},
        {proto.has_s(), AttributeProto::STRING},
        {proto.has_t(), AttributeProto::TENSOR},
        {proto.has_g(), AttributeProto::GRAPH},
        {proto.has_sparse_tensor(), AttributeProto::SPARSE_TENSOR},
        {proto.graphs_size() > 0, AttributeProto::GRAPHS},
        {proto.floats_size() > 0, AttributeProto::FLOATS},
        {proto.ints_size() > 0, AttributeProto::INTS},
        {proto.strings_size() > 0, AttributeProto::STRINGS},
    };
    for (const auto& [isFilled, type] : filled) {
        if (isFilled) {
            return type;
        }
    }
    return AttributeProto::UNDEFINED;
}

base::Error refusal(const NodeProto& node, AttributeProto::AttributeType type)
{
    switch (type) {
    case AttributeProto::GRAPHS:
        return inputError(
            fmt::format("the operator {} holds a list of graphs, which is not supported", node.op_type()));
    case AttributeProto::SPARSE_TENSORS:
        return inputError("lists of sparse tensors are not supported; save the model with dense tensors");
    case AttributeProto::TENSORS:
        return inputError("lists of tensors are not supported");
    case AttributeProto::TYPE_PROTO:
    case AttributeProto::TYPE_PROTOS:
        return inputError("types as attributes (sequences and optionals) are not supported");
    default:
        return inputError("it holds no value");
    }
}

Result<Attribute> readAttribute(const NodeProto& node, const AttributeProto& proto, const std::filesystem::path& folder)
{
    if (proto.has_ref_attr_name() && !proto.ref_attr_name().empty()) {
        return inputError("it refers to an attribute of a function, but this node is not inside one");
    }
    const AttributeProto::AttributeType type = typeOf(proto);
    switch (type) {
    case AttributeProto::FLOAT:
        return Attribute(static_cast<double>(proto.f()));
    case AttributeProto::INT:
        return Attribute(std::int64_t{proto.i()});
    case AttributeProto::STRING:
        return Attribute(proto.s());
    case AttributeProto::TENSOR: {
        RETRO_TRY(Tensor tensor, fromTensorProto(proto.t(), folder));
        return Attribute(std::move(tensor));
    }
    case AttributeProto::SPARSE_TENSOR: {
        Result<Tensor> tensor = fromSparseTensorProto(proto.sparse_tensor(), folder);
        return tensor.ok() ? Result<Attribute>(std::move(tensor).value())
                           : base::within(std::move(tensor).error(), "field 'sparse_tensor'");
    }
    case AttributeProto::FLOATS:
        return Attribute(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::INTS:
        return Attribute(std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::STRINGS:
        return Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    default:
        return refusal(node, type);
    }
}

struct AttributeWriter
{
    AttributeProto& proto;
    void operator()(std::int64_t v) const
    {
        proto.set_type(AttributeProto::INT);
        proto.set_i(v);
    }
    void operator()(double v) const
    {
        proto.set_type(AttributeProto::FLOAT);
        proto.set_f(static_cast<float>(v));
    }
    void operator()(const std::string& v) const
    {
        proto.set_type(AttributeProto::STRING);
        proto.set_s(v);
    }
    void operator()(const Tensor& v) const
    {
        proto.set_type(AttributeProto::TENSOR);
        toTensorProto(v, *proto.mutable_t());
    }
    void operator()(const std::vector<std::int64_t>& v) const
    {
        proto.set_type(AttributeProto::INTS);
        proto.mutable_ints()->Add(v.begin(), v.end());
    }
    void operator()(const std::vector<double>& v) const
    {
        proto.set_type(AttributeProto::FLOATS);
        for (const double item : v) {
            proto.add_floats(static_cast<float>(item));
        }
    }
    void operator()(const std::vector<std::string>& v) const
    {
        proto.set_type(AttributeProto::STRINGS);
        for (const std::string& item : v) {
            proto.add_strings(item);
        }
    }
    void operator()(const graph::Subgraph&) const { proto.set_type(AttributeProto::GRAPH); }
};

/// A Constant's attribute as a tensor: scalars have rank 0, lists rank 1.
struct ConstantReader
{
    Result<Tensor> operator()(const Tensor& v) const { return v; }
    Result<Tensor> operator()(std::int64_t v) const { return Tensor::scalar(v); }
    Result<Tensor> operator()(double v) const { return Tensor::scalar(static_cast<float>(v)); }
    Result<Tensor> operator()(const std::vector<std::int64_t>& v) const
    {
        return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
    }
    Result<Tensor> operator()(const std::vector<double>& v) const
    {
        const std::vector<float> narrow(v.begin(), v.end());
        return Tensor::of<float>({static_cast<std::int64_t>(narrow.size())}, narrow);
    }
    template <class Text>
    Result<Tensor> operator()(const Text&) const
    {
        return inputError("texts as tensor elements are not supported");
    }
};

bool isValueName(const std::string& name) { return name.starts_with("value") || name == "sparse_value"; }

} // namespace

Result<graph::Attributes> readAttributes(const NodeProto& node, const std::filesystem::path& folder)
{
    graph::Attributes attributes;
    for (const AttributeProto& proto : node.attribute()) {
        if (!isUtf8(proto.name())) {
            return inputError("an attribute's name is not valid text (UTF-8); the file is damaged");
        }
        if (typeOf(proto) == AttributeProto::GRAPH && proto.has_g()) {
            continue;
        }
        const std::string place = "attribute '" + proto.name() + "'";
        RETRO_TRY(auto value, base::within(readAttribute(node, proto, folder), place));
        if (!attributes.emplace(proto.name(), std::move(value)).second) {
            return inputError("the node has two attributes of this name", place);
        }
    }
    return attributes;
}

void writeAttribute(const std::string& name, const Attribute& value, AttributeProto& proto)
{
    proto.set_name(name);
    std::visit(AttributeWriter{proto}, value);
}

Result<Tensor> readConstantNode(const NodeProto& node, const std::filesystem::path& folder)
{
    RETRO_TRY(const graph::Attributes attributes, readAttributes(node, folder));
    if (attributes.size() != 1 || !isValueName(attributes.begin()->first)) {
        return inputError("a Constant must have exactly one attribute: value, sparse_value, value_float, value_floats, "
                          "value_int or value_ints");
    }
    Result<Tensor> tensor = std::visit(ConstantReader(), attributes.begin()->second);
    return tensor.ok() ? std::move(tensor)
                       : base::within(std::move(tensor).error(), "attribute '" + attributes.begin()->first + "'");
}

} // namespace retro::formats
