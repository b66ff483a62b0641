// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::rows
{

/// Kinds of values in Thrift's compact protocol, in which Parquet files describe themselves.
enum class ThriftType : std::uint8_t {
    Stop = 0,
    True = 1,
    False = 2,
    Byte = 3,
    I16 = 4,
    I32 = 5,
    I64 = 6,
    Double = 7,
    Binary = 8,
    List = 9,
    Set = 10,
    Map = 11,
    Struct = 12
};

/// Writes it. Fields of a struct are added in ascending order.
class ThriftWriter
{
public:
    /// The fields of a struct follow, up to endStruct().
    void beginStruct() { m_last.push_back(0); }
    /// Ends the last struct that began.
    void endStruct();
    /// A field with its number and value; one for each type.
    void field(std::int16_t id, std::int32_t value);
    /// The same of 64 bits.
    void field(std::int16_t id, std::int64_t value);
    /// The same of a text.
    void field(std::int16_t id, std::string_view text);
    /// A struct or a list follows.
    void beginField(std::int16_t id, ThriftType type);
    void listHead(std::size_t count, ThriftType type);
    void item(std::int32_t value) { zigzag(value); }
    void item(std::string_view text);
    /// Bytes as they are: items that were read from another file.
    void raw(std::span<const std::byte> bytes);

    [[nodiscard]] const std::vector<std::byte>& bytes() const { return m_bytes; }

private:
    void byte(std::uint8_t value) { m_bytes.push_back(static_cast<std::byte>(value)); }
    void varint(std::uint64_t value);
    void zigzag(std::int64_t value);

    std::vector<std::byte> m_bytes;
    std::vector<std::int16_t> m_last; ///< field of each open struct
};

/// Reads it from bytes of unknown origin. After anything that does not fit, isGood() is false and every answer is 0 or
/// empty.
class ThriftReader
{
public:
    explicit ThriftReader(std::span<const std::byte> bytes) : m_bytes(bytes) {}

    [[nodiscard]] bool isGood() const { return m_isGood; }
    [[nodiscard]] std::size_t position() const { return m_at; }

    struct Field
    {
        ThriftType type = ThriftType::Stop;
        std::int16_t id = 0;
    };
    /// The fields of a struct follow, up to the one of type Stop.
    void beginStruct() { m_last.push_back(0); }
    /// The next field; Stop at the end of the struct, which is left then.
    Field nextField();
    struct List
    {
        std::size_t count = 0; ///< never more than there are bytes
        ThriftType type = ThriftType::Stop;
    };
    /// What a list begins with.
    List list();
    /// An integer of any width.
    std::int64_t integer();
    /// A text, which is never longer than the bytes that are left.
    std::string text();
    /// Passes over a value.
    void skip(ThriftType type, int depth = 0);

private:
    std::uint8_t byte();
    std::uint64_t varint();
    void fail();

    std::span<const std::byte> m_bytes;
    std::size_t m_at = 0;
    bool m_isGood = true;
    std::vector<std::int16_t> m_last;
};

} // namespace retro::rows
