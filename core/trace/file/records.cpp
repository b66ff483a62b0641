// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/records.h"

#include <span>

namespace retro::trace::file
{

void put(ByteWriter& to, const Event& event)
{
    to.put(event.kind);
    to.put(event.mode);
    to.put(event.flag);
    to.put(event.reserved);
    to.put(event.visit);
    to.put(event.node);
    to.put(event.slot);
    to.put(event.promise);
    to.put(event.branch);
    to.put(event.other);
    to.put(event.branch2);
    to.put(event.handle);
    to.put(event.reserved2);
    to.put(event.extra);
}

Event getEvent(ByteReader& from)
{
    Event event;
    event.kind = from.get<event::EventKind>();
    event.mode = from.get<event::Mode>();
    event.flag = from.get<std::uint8_t>();
    event.reserved = from.get<std::uint8_t>();
    event.visit = from.get<std::uint32_t>();
    event.node = from.get<std::uint32_t>();
    event.slot = from.get<std::uint32_t>();
    event.promise = from.get<std::uint32_t>();
    event.branch = from.get<std::uint32_t>();
    event.other = from.get<std::uint32_t>();
    event.branch2 = from.get<std::uint32_t>();
    event.handle = from.get<std::uint32_t>();
    event.reserved2 = from.get<std::uint32_t>();
    event.extra = from.get<std::int64_t>();
    return event;
}

void put(ByteWriter& to, const event::LedgerEntry& entry)
{
    to.put(entry.node);
    to.put(entry.visit);
    to.put(entry.arrived);
    to.put(entry.handedOn);
    to.put(entry.magnitude);
    for (const double amount : entry.causes) {
        to.put(amount);
    }
    to.put(entry.magnitudeHandedOn);
}

namespace
{

/// How many causes a ledger row of this version has: the first ones.
std::size_t causesOf(std::int64_t version)
{
    return version < 2 ? 9 : version < 10 ? 11 : version < 14 ? 12 : event::kCauseCount;
}

enum DimensionBits : std::uint8_t { kHasExtent = 1, kHasSymbol = 2 };

} // namespace

event::LedgerEntry getLedgerEntry(ByteReader& from, std::int64_t version)
{
    event::LedgerEntry entry;
    entry.node = from.get<std::uint32_t>();
    entry.visit = from.get<std::uint32_t>();
    entry.arrived = from.get<double>();
    entry.handedOn = from.get<double>();
    entry.magnitude = from.get<double>();
    for (double& amount : std::span(entry.causes).first(causesOf(version))) {
        amount = from.get<double>();
    }
    entry.magnitudeHandedOn = version < kMagnitudesSince ? 0 : from.get<double>();
    return entry;
}

void put(ByteWriter& to, const HandleRecord& handle)
{
    to.put(handle.info.dtype);
    put(to, handle.info.shape);
    to.put(handle.info.bytes);
    to.put(handle.info.sum);
    to.put(handle.tensor);
}

HandleRecord getHandle(ByteReader& from)
{
    HandleRecord handle;
    handle.info.dtype = getDType(from);
    handle.info.shape = getShape(from);
    handle.info.bytes = from.get<std::int64_t>();
    handle.info.sum = from.get<double>();
    handle.tensor = from.get<std::uint32_t>();
    if (handle.info.bytes < 0) {
        from.fail();
    }
    return handle;
}

tensor::DType getDType(ByteReader& from)
{
    const auto dtype = from.get<std::uint8_t>();
    if (dtype >= kDTypeCount) {
        from.fail();
        return tensor::DType::Float32;
    }
    return static_cast<tensor::DType>(dtype);
}

void put(ByteWriter& to, const tensor::Shape& shape)
{
    to.put(static_cast<std::uint8_t>(shape.size()));
    for (const std::int64_t extent : shape) {
        to.put(extent);
    }
}

tensor::Shape getShape(ByteReader& from)
{
    const auto rank = from.get<std::uint8_t>();
    if (rank > tensor::kMaxRank) {
        from.fail();
        return {};
    }
    tensor::Shape shape(rank);
    for (std::int64_t& extent : shape) {
        extent = from.get<std::int64_t>();
        if (extent < 0) {
            from.fail();
        }
    }
    return from.ok() ? shape : tensor::Shape();
}

std::optional<std::size_t> bytesWithin(tensor::DType dtype, const tensor::Shape& shape, std::uint64_t limit)
{
    std::uint64_t bytes = tensor::sizeOf(dtype);
    for (const std::int64_t extent : shape) {
        if (extent == 0) {
            return 0;
        }
        if (bytes > limit / static_cast<std::uint64_t>(extent)) {
            return std::nullopt;
        }
        bytes *= static_cast<std::uint64_t>(extent);
    }
    return bytes <= limit ? std::optional<std::size_t>(bytes) : std::nullopt;
}

void put(ByteWriter& to, const DeclaredShape& shape)
{
    if (!shape) {
        return;
    }
    to.put(static_cast<std::uint8_t>(shape->size()));
    for (const graph::Dimension& dimension : *shape) {
        const bool hasSymbol = !dimension.symbol.empty();
        to.put(static_cast<std::uint8_t>((dimension.extent ? kHasExtent : 0) | (hasSymbol ? kHasSymbol : 0)));
        if (dimension.extent) {
            to.put(*dimension.extent);
        }
        if (hasSymbol) {
            to.text(dimension.symbol);
        }
    }
}

DeclaredShape getDeclaredShape(ByteReader& from)
{
    if (from.left() == 0) {
        return std::nullopt;
    }
    std::vector<graph::Dimension> shape(from.get<std::uint8_t>());
    for (graph::Dimension& dimension : shape) {
        const auto bits = from.get<std::uint8_t>();
        if ((bits & kHasExtent) != 0) {
            dimension.extent = from.get<std::int64_t>();
        }
        if ((bits & kHasSymbol) != 0) {
            dimension.symbol = from.text();
        }
    }
    return shape;
}

void put(ByteWriter& to, const std::vector<ValueId>& ids)
{
    for (const ValueId id : ids) {
        to.put(id.value);
    }
}

std::vector<ValueId> getValueIds(ByteReader& from)
{
    std::vector<ValueId> ids;
    while (from.left() > 0) {
        ids.emplace_back(from.get<std::uint32_t>());
    }
    return ids;
}

} // namespace retro::trace::file
