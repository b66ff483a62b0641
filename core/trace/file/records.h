// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/graph.h"
#include "core/trace/file/bytes.h"
#include "core/trace/run.h"

#include <optional>

// Blobs of the run file (docs/formats/retro.md). Readers leave `from` not ok() on anything that no writer writes;
// nothing is allocated beyond what the blob itself can hold.
namespace retro::trace::file
{

/// Records of one blob in the tables events, ledger and handles.
inline constexpr std::size_t kChunkRecords = 4096;
/// Bytes of one record.
inline constexpr std::size_t kEventBytes = 48;
inline constexpr std::size_t kLedgerBytes = 24 + 8 + 8 * event::kCauseCount + 8;
/// The first version whose ledger rows have the magnitude that was handed on.
inline constexpr std::int64_t kMagnitudesSince = 9;

/// A handle as the file has it: what is known of it, and its row in `tensors` (or kNoTensor).
struct HandleRecord
{
    HandleInfo info;
    std::uint32_t tensor = 0xffffffffU;
};
inline constexpr std::uint32_t kNoTensor = 0xffffffffU;

/// An event: kEventBytes.
void put(ByteWriter& to, const Event& event);
/// Reads an event; its fields may be anything.
[[nodiscard]] Event getEvent(ByteReader& from);

/// A ledger row: kLedgerBytes.
void put(ByteWriter& to, const event::LedgerEntry& entry);
/// Reads a ledger row of a file of this version; what it has not is 0. Its fields may be anything.
[[nodiscard]] event::LedgerEntry getLedgerEntry(ByteReader& from, std::int64_t version);

/// A handle: type, shape, bytes, sum, row of its tensor.
void put(ByteWriter& to, const HandleRecord& handle);
/// Reads a handle; refuses unknown types and negative sizes.
[[nodiscard]] HandleRecord getHandle(ByteReader& from);

/// Rank as 8 bits, then the extents. Reading refuses ranks above kMaxRank and negative extents.
void put(ByteWriter& to, const tensor::Shape& shape);
[[nodiscard]] tensor::Shape getShape(ByteReader& from);

/// A declared shape, with symbols and unknown extents; an empty blob when nothing is declared.
using DeclaredShape = std::optional<std::vector<graph::Dimension>>;
/// Writes nothing at all when nothing is declared.
void put(ByteWriter& to, const DeclaredShape& shape);
/// Reads all that is left as a declared shape.
[[nodiscard]] DeclaredShape getDeclaredShape(ByteReader& from);

/// Ids of values, 32 bits each.
void put(ByteWriter& to, const std::vector<ValueId>& ids);
[[nodiscard]] std::vector<ValueId> getValueIds(ByteReader& from);

/// Type (position in the variant) as 8 bits, then the value.
void put(ByteWriter& to, const graph::Attribute& attribute);
[[nodiscard]] graph::Attribute getAttribute(ByteReader& from);

/// Bytes that a tensor of this type and shape has; nothing when that is more than `limit` (or cannot be counted).
[[nodiscard]] std::optional<std::size_t> bytesWithin(tensor::DType dtype, const tensor::Shape& shape,
                                                     std::uint64_t limit);
/// Element type of a stored number; fails on unknown ones.
[[nodiscard]] tensor::DType getDType(ByteReader& from);
inline constexpr auto kDTypeCount = static_cast<std::int64_t>(tensor::kDTypeCount);

} // namespace retro::trace::file
