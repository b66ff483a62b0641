// SPDX-License-Identifier: Apache-2.0
#include "core/base/hash.h"
#include "core/base/hash128.h"
#include "core/graph/contentdigest.h"
#include "core/graph/graphbuilder.h"

#include <bit>

namespace retro::graph
{

namespace
{

using base::Hasher;
using base::Hasher128;

template <class H>
void addTensor(H& hash, const tensor::Tensor& t)
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
template <class H>
void addConstant(H& hash, const Value& value, bool withData)
{
    hash.number(static_cast<std::uint64_t>(value.dtype));
    for (const Dimension& dimension : value.shape.value_or(std::vector<Dimension>())) {
        hash.number(static_cast<std::uint64_t>(dimension.extent.value_or(-1)));
    }
    if (withData) {
        addTensor(hash, value.constant);
    }
}

template <class H>
void addGraph(H& hash, const Graph& graph, bool withData);

void addDigest(Hasher& hash, const Hasher& nested) { hash.number(nested.digest()); }
void addDigest(Hasher128& hash, const Hasher128& nested) { hash.text(nested.digest()); }

template <class H>
struct AttributeHasher
{
    H& hash;
    void operator()(const Subgraph& v) const
    {
        H nested;
        addGraph(nested, *v.graph, true);
        addDigest(hash, nested);
    }
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

template <class H>
void addNode(H& hash, const Node& node)
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
        std::visit(AttributeHasher<H>{hash}, attribute);
    }
}

template <class H>
void addGraph(H& hash, const Graph& graph, bool withData)
{
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
}

} // namespace

std::uint64_t structuralHash(const Graph& graph)
{
    Hasher hash;
    addGraph(hash, graph, false);
    return hash.digest();
}

std::string contentDigest(const Graph& graph)
{
    Hasher128 hash;
    addGraph(hash, graph, true);
    return hash.digest();
}

} // namespace retro::graph
