// SPDX-License-Identifier: Apache-2.0
#include "core/base/hash.h"
#include "core/base/hash128.h"
#include "core/base/mappedfile.h"
#include "core/graph/contentdigest.h"
#include "core/graph/graphbuilder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <optional>

namespace retro::graph
{

namespace
{

using base::Hasher;
using base::Hasher128;

/// What counts of the constants.
enum class Constants : std::uint8_t { Types, Data, Stamps };

constexpr std::uint64_t kStampedPages = 64; // of a file
constexpr std::uint64_t kPageBytes = 4096;

/// Its file, its place there, and pages spread over it: the first and the last one, and others between.
template <class H>
void addPages(H& hash, std::span<const std::byte> data, const base::MappedPlace& place)
{
    hash.text(place.file.filename().string());
    hash.number(place.fileBytes);
    hash.number(static_cast<std::uint64_t>(place.changed));
    hash.number(place.offset);
    const std::uint64_t bytes = data.size();
    const double share = static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(place.fileBytes, 1));
    const auto pages = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(kStampedPages)));
    const std::uint64_t last = bytes - std::min(bytes, kPageBytes);
    for (std::uint64_t i = 0; i < pages; ++i) {
        const double part = pages < 2 ? 0.5 : static_cast<double>(i) / static_cast<double>(pages - 1);
        const auto begin = std::min(last, static_cast<std::uint64_t>(part * static_cast<double>(last)));
        hash.bytes(data.subspan(begin, std::min(kPageBytes, bytes - begin)));
    }
}

/// True when the data lies in a mapped file and was added by its place there.
template <class H>
bool addStamp(H& hash, const tensor::Tensor& t)
{
    if (!t.isValid() || !t.isContiguous() || t.storage()->isOwn() || t.bytes() == 0) {
        return false;
    }
    const std::optional<base::MappedPlace> place = base::mappedPlaceOf(t.rawData());
    const auto bytes = static_cast<std::uint64_t>(t.bytes());
    if (!place || place->length < bytes) {
        return false;
    }
    addPages(hash, {t.rawData(), bytes}, *place);
    return true;
}

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
void addConstant(H& hash, const Value& value, Constants constants)
{
    hash.number(static_cast<std::uint64_t>(value.dtype));
    for (const Dimension& dimension : value.shape.value_or(std::vector<Dimension>())) {
        hash.number(static_cast<std::uint64_t>(dimension.extent.value_or(-1)));
    }
    if (constants == Constants::Types || (constants == Constants::Stamps && addStamp(hash, value.constant))) {
        return;
    }
    addTensor(hash, value.constant);
}

template <class H>
void addGraph(H& hash, const Graph& graph, Constants constants);

void addDigest(Hasher& hash, const Hasher& nested) { hash.number(nested.digest()); }
void addDigest(Hasher128& hash, const Hasher128& nested) { hash.text(nested.digest()); }

template <class H>
struct AttributeHasher
{
    H& hash;
    void operator()(const Subgraph& v) const
    {
        H nested;
        addGraph(nested, *v.graph, Constants::Data);
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
void addGraph(H& hash, const Graph& graph, Constants constants)
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
            addConstant(hash, value, constants);
        }
    }
    for (const Node& node : graph.nodes()) {
        addNode(hash, node);
    }
}

/// The digest of the graph that was asked for last: a batch asks once per input, and large models take long.
class LastDigest
{
public:
    explicit LastDigest(std::string (*make)(const Graph&)) : m_make(make) {}

    std::string of(const std::shared_ptr<const Graph>& graph)
    {
        if (graph == nullptr) {
            return {};
        }
        const std::lock_guard lock(m_mutex);
        if (m_last.lock() != graph) {
            m_digest = m_make(*graph);
            m_last = graph;
        }
        return m_digest;
    }

private:
    std::string (*m_make)(const Graph&);
    std::mutex m_mutex;
    std::weak_ptr<const Graph> m_last;
    std::string m_digest;
};

} // namespace

std::uint64_t structuralHash(const Graph& graph)
{
    Hasher hash;
    addGraph(hash, graph, Constants::Types);
    return hash.digest();
}

base::Hash128 structuralHash128(const Graph& graph)
{
    Hasher128 hash;
    addGraph(hash, graph, Constants::Types);
    return hash.value();
}

std::string contentDigest(const Graph& graph)
{
    Hasher128 hash;
    addGraph(hash, graph, Constants::Data);
    return hash.digest();
}

std::string stampedDigest(const Graph& graph)
{
    Hasher128 hash;
    addGraph(hash, graph, Constants::Stamps);
    return hash.digest();
}

std::string contentDigest(const std::shared_ptr<const Graph>& graph)
{
    static LastDigest last{&contentDigest};
    return last.of(graph);
}

std::string stampedDigest(const std::shared_ptr<const Graph>& graph)
{
    static LastDigest last{&stampedDigest};
    return last.of(graph);
}

} // namespace retro::graph
