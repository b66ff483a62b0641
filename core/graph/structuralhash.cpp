// SPDX-License-Identifier: Apache-2.0
#include "core/base/hash.h"
#include "core/graph/graphbuilder.h"

#include <bit>

namespace retro::graph
{

namespace
{

using base::Hasher;

void addTensor(Hasher& hash, const tensor::Tensor& t)
{
    hash.number(static_cast<std::uint64_t>(t.dtype()));
    hash.number(t.rank());
    for (const std::int64_t extent : t.shape()) {
        hash.number(static_cast<std::uint64_t>(extent));
    }
    if (t.isValid()) {
        const tensor::Tensor plain = t.contiguous();
        hash.bytes({plain.rawData(), static_cast<std::size_t>(plain.bytes())});
    }
}

/// A constant by its declared type and shape, which it has even where its data was left out (run files).
void addConstant(Hasher& hash, const Value& value, bool withData)
{
    hash.number(static_cast<std::uint64_t>(value.dtype));
    for (const Dimension& dimension : value.shape.value_or(std::vector<Dimension>())) {
        hash.number(static_cast<std::uint64_t>(dimension.extent.value_or(-1)));
    }
    if (withData) {
        addTensor(hash, value.constant);
    }
}

std::uint64_t hashGraph(const Graph& graph, bool withData);

struct AttributeHasher
{
    Hasher& hash;
    void operator()(const Subgraph& v) const { hash.number(hashGraph(*v.graph, true)); }
    void operator()(std::int64_t v) const { hash.number(static_cast<std::uint64_t>(v)); }
    void operator()(double v) const { hash.number(std::bit_cast<std::uint64_t>(v)); }
    void operator()(const std::string& v) const { hash.text(v); }
    void operator()(const tensor::Tensor& v) const { addTensor(hash, v); }
    template <class T>
    void operator()(const std::vector<T>& v) const
    {
        hash.number(v.size());
        for (const T& item : v) {
            (*this)(item);
        }
    }
};

void addNode(Hasher& hash, const Node& node)
{
    hash.text(node.domain);
    hash.text(node.op);
    hash.number(static_cast<std::uint64_t>(node.opset));
    for (const ValueId input : node.inputs) {
        hash.number(input.value);
    }
    for (const ValueId output : node.outputs) {
        hash.number(output.value);
    }
    for (const auto& [name, attribute] : node.attributes) {
        hash.text(name);
        hash.number(attribute.index());
        std::visit(AttributeHasher{hash}, attribute);
    }
}

std::uint64_t hashGraph(const Graph& graph, bool withData)
{
    Hasher hash;
    for (const ValueId input : graph.inputs()) {
        hash.number(input.value);
    }
    for (const ValueId output : graph.outputs()) {
        hash.number(output.value);
    }
    for (const Value& value : graph.values()) {
        hash.number(static_cast<std::uint64_t>(value.kind));
        if (value.kind == ValueKind::Constant) {
            addConstant(hash, value, withData);
        }
    }
    for (const Node& node : graph.nodes()) {
        addNode(hash, node);
    }
    return hash.digest();
}

} // namespace

std::uint64_t structuralHash(const Graph& graph) { return hashGraph(graph, false); }

std::uint64_t contentHash(const Graph& graph) { return hashGraph(graph, true); }

} // namespace retro::graph
