// SPDX-License-Identifier: Apache-2.0
#include "core/rows/thrift.h"

namespace retro::rows
{

namespace
{

constexpr int kDeepest = 32;
constexpr std::size_t kShortList = 15; ///< from here on the count stands by itself

} // namespace

void ThriftWriter::varint(std::uint64_t value)
{
    for (; value >= 0x80; value >>= 7U) {
        byte(static_cast<std::uint8_t>(value | 0x80U));
    }
    byte(static_cast<std::uint8_t>(value));
}

void ThriftWriter::zigzag(std::int64_t value)
{
    varint((static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63));
}

void ThriftWriter::endStruct()
{
    byte(0);
    m_last.pop_back();
}

void ThriftWriter::beginField(std::int16_t id, ThriftType type)
{
    const int step = id - m_last.back();
    if (step > 0 && step < 16) {
        byte(static_cast<std::uint8_t>((static_cast<unsigned>(step) << 4U) | static_cast<unsigned>(type)));
    } else {
        byte(static_cast<std::uint8_t>(type));
        zigzag(id);
    }
    m_last.back() = id;
}

void ThriftWriter::field(std::int16_t id, std::int32_t value)
{
    beginField(id, ThriftType::I32);
    zigzag(value);
}

void ThriftWriter::field(std::int16_t id, std::int64_t value)
{
    beginField(id, ThriftType::I64);
    zigzag(value);
}

void ThriftWriter::field(std::int16_t id, std::string_view text)
{
    beginField(id, ThriftType::Binary);
    item(text);
}

void ThriftWriter::item(std::string_view text)
{
    varint(text.size());
    raw(std::as_bytes(std::span(text)));
}

void ThriftWriter::listHead(std::size_t count, ThriftType type)
{
    if (count < kShortList) {
        byte(static_cast<std::uint8_t>((count << 4U) | static_cast<unsigned>(type)));
    } else {
        byte(static_cast<std::uint8_t>(0xF0U | static_cast<unsigned>(type)));
        varint(count);
    }
}

void ThriftWriter::raw(std::span<const std::byte> bytes) { m_bytes.insert(m_bytes.end(), bytes.begin(), bytes.end()); }

void ThriftReader::fail()
{
    m_isGood = false;
    m_at = m_bytes.size();
}

std::uint8_t ThriftReader::byte()
{
    if (m_at >= m_bytes.size()) {
        fail();
        return 0;
    }
    return static_cast<std::uint8_t>(m_bytes[m_at++]);
}

std::uint64_t ThriftReader::varint()
{
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const std::uint8_t next = byte();
        value |= static_cast<std::uint64_t>(next & 0x7FU) << shift;
        if ((next & 0x80U) == 0) {
            return m_isGood ? value : 0;
        }
    }
    fail();
    return 0;
}

std::int64_t ThriftReader::integer()
{
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
}

std::string ThriftReader::text()
{
    const std::uint64_t count = varint();
    if (count > m_bytes.size() - m_at) {
        fail();
        return {};
    }
    std::string read(reinterpret_cast<const char*>(m_bytes.data() + m_at), count);
    m_at += count;
    return read;
}

ThriftReader::Field ThriftReader::nextField()
{
    const std::uint8_t head = byte();
    const auto type = static_cast<ThriftType>(head & 0x0FU);
    if (type == ThriftType::Stop || !m_isGood || m_last.empty()) {
        if (!m_last.empty()) {
            m_last.pop_back();
        }
        return {};
    }
    const int step = head >> 4U;
    m_last.back() = static_cast<std::int16_t>(step == 0 ? integer() : m_last.back() + step);
    return {type, m_last.back()};
}

ThriftReader::List ThriftReader::list()
{
    const std::uint8_t head = byte();
    std::uint64_t count = head >> 4U;
    count = count == kShortList ? varint() : count;
    if (count > m_bytes.size() - m_at) { // each item has a byte at least
        fail();
        return {};
    }
    return {count, static_cast<ThriftType>(head & 0x0FU)};
}

void ThriftReader::skip(ThriftType type, int depth)
{
    if (depth > kDeepest) {
        fail();
        return;
    }
    switch (type) {
    case ThriftType::True:
    case ThriftType::False:
        return;
    case ThriftType::Byte:
        byte();
        return;
    case ThriftType::I16:
    case ThriftType::I32:
    case ThriftType::I64:
        varint();
        return;
    case ThriftType::Double:
        for (int i = 0; i < 8; ++i) {
            byte();
        }
        return;
    case ThriftType::Binary:
        text();
        return;
    case ThriftType::List:
    case ThriftType::Set: {
        const List items = list();
        const bool areFlags = items.type == ThriftType::True || items.type == ThriftType::False;
        for (std::size_t i = 0; i < items.count && m_isGood; ++i) {
            if (areFlags) {
                byte();
            } else {
                skip(items.type, depth + 1);
            }
        }
        return;
    }
    case ThriftType::Struct:
        beginStruct();
        for (Field next = nextField(); next.type != ThriftType::Stop; next = nextField()) {
            skip(next.type, depth + 1);
        }
        return;
    case ThriftType::Map:
    case ThriftType::Stop:
        fail();
        return;
    }
    fail();
}

} // namespace retro::rows
