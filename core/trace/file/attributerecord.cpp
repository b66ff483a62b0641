// SPDX-License-Identifier: Apache-2.0
// Node attributes as blobs: their type, then their value.
#include "core/trace/file/records.h"

#include <array>
#include <cstring>

namespace retro::trace::file
{

namespace
{

struct AttributeWriter
{
    ByteWriter& to;

    void operator()(std::int64_t value) const { to.put(value); }
    void operator()(double value) const { to.put(value); }
    void operator()(const std::string& value) const { to.text(value); }
    void operator()(const Tensor& value) const
    {
        const Tensor plain = value.contiguous();
        to.put(plain.dtype());
        put(to, plain.shape());
        if (plain.isValid()) {
            to.raw({plain.rawData(), static_cast<std::size_t>(plain.bytes())});
        }
    }
    void operator()(const graph::Subgraph& value) const { to.text(value.graph->name()); }
    template <class T>
    void operator()(const std::vector<T>& values) const
    {
        to.put(static_cast<std::uint32_t>(values.size()));
        for (const T& value : values) {
            (*this)(value);
        }
    }
};

graph::Attribute getInt(ByteReader& from) { return from.get<std::int64_t>(); }

graph::Attribute getFloat(ByteReader& from) { return from.get<double>(); }

graph::Attribute getText(ByteReader& from) { return from.text(); }

graph::Attribute getTensor(ByteReader& from)
{
    const tensor::DType dtype = getDType(from);
    tensor::Shape shape = getShape(from);
    const std::optional<std::size_t> bytes = bytesWithin(dtype, shape, from.left());
    if (!from.ok() || !bytes || *bytes != from.left()) {
        from.fail();
        return Tensor();
    }
    tensor::TensorBuffer buffer(dtype, std::move(shape));
    const std::span<const std::byte> data = from.raw(*bytes);
    if (!data.empty()) {
        std::memcpy(buffer.rawData(), data.data(), data.size());
    }
    return std::move(buffer).freeze();
}

/// A list whose items take at least `smallest` bytes each.
template <class T, class Get>
graph::Attribute getList(ByteReader& from, std::size_t smallest, Get&& get)
{
    const auto count = from.get<std::uint32_t>();
    std::vector<T> values;
    if (count > from.left() / smallest) {
        from.fail();
        return values;
    }
    values.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        values.push_back(get());
    }
    return values;
}

graph::Attribute getInts(ByteReader& from)
{
    return getList<std::int64_t>(from, 8, [&] { return from.get<std::int64_t>(); });
}

graph::Attribute getFloats(ByteReader& from)
{
    return getList<double>(from, 8, [&] { return from.get<double>(); });
}

graph::Attribute getTexts(ByteReader& from)
{
    return getList<std::string>(from, 4, [&] { return from.text(); });
}

// A graph inside a node is kept as its name: control flow is resolved before a run, so it cannot have taken part.
using Getter = graph::Attribute (*)(ByteReader&);
constexpr std::array<Getter, std::variant_size_v<graph::Attribute>> kGetters{getInt,  getFloat,  getText,  getTensor,
                                                                             getInts, getFloats, getTexts, getText};

} // namespace

void put(ByteWriter& to, const graph::Attribute& attribute)
{
    to.put(static_cast<std::uint8_t>(attribute.index()));
    std::visit(AttributeWriter{to}, attribute);
}

graph::Attribute getAttribute(ByteReader& from)
{
    const auto type = from.get<std::uint8_t>();
    if (type >= kGetters.size()) {
        from.fail();
        return std::int64_t{0};
    }
    return kGetters[type](from);
}

} // namespace retro::trace::file
