// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/file.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace retro::formats
{

/// Deepest nesting of lists and dicts.
inline constexpr std::size_t kMaxPickleDepth = 64;

/// Throws a Failure (Input).
[[noreturn]] void failPickle(std::string message);

/// The bytes of a file, one after the other. Throws a Failure (Input) where it ends early.
class FileBytes
{
public:
    explicit FileBytes(const base::FileReader& file) : m_file(file), m_buffer(std::size_t{4} << 20U) {}

    [[nodiscard]] std::uint64_t position() const { return m_start + m_at; }
    /// All of them.
    [[nodiscard]] std::uint64_t size() const { return m_file.size(); }
    /// The next one.
    std::uint8_t byte()
    {
        if (m_at == m_filled) {
            fill();
        }
        return static_cast<std::uint8_t>(m_buffer[m_at++]);
    }
    /// A whole number of so many bytes, the lowest first.
    std::uint64_t number(int count);
    /// The same of four bytes.
    std::uint64_t four()
    {
        if (m_filled - m_at < 4 || std::endian::native != std::endian::little) {
            return number(4);
        }
        std::uint32_t value = 0;
        std::memcpy(&value, m_buffer.data() + m_at, sizeof(value));
        m_at += sizeof(value);
        return value;
    }
    /// Goes past the next byte if it is this one and was read already.
    bool skips(std::uint8_t wanted)
    {
        const bool isNext = m_at < m_filled && m_buffer[m_at] == std::byte{wanted};
        m_at += isNext ? 1 : 0;
        return isNext;
    }
    /// Bytes up to a limit; valid until the next call.
    std::string_view text(std::uint64_t length);
    /// Up to the end of the line, without it.
    std::string_view line();

private:
    void fill();

    const base::FileReader& m_file;
    std::vector<std::byte> m_buffer;
    std::uint64_t m_start = 0; ///< of the buffer, in the file
    std::uint64_t m_at = 0;
    std::uint64_t m_filled = 0;
    std::string m_text;
};

enum class PickledTag : std::uint8_t { None, Number, Real, Text, Container, Mark };

/// What lies on the stack or in the memo.
struct PickledValue
{
    PickledTag tag = PickledTag::None;
    std::int64_t number = 0; ///< of a text its position, of a container its id
};

/// What became of a list, tuple or dict: with its values (list), with keys and values in turn (dict), or what somebody
/// makes of it, from kPickledOwn on.
using PickledKind = std::uint8_t;
inline constexpr PickledKind kPickledList = 0;
inline constexpr PickledKind kPickledDict = 1;
inline constexpr PickledKind kPickledOwn = 2;

struct PickledContainer
{
    PickledKind kind = kPickledList;
    std::uint8_t depth = 1;
    std::uint32_t index = 0; ///< of its values, or of what it is, by kind
};

/// A pickle is a programme for a small machine. This one carries out the instructions that make numbers, texts, lists,
/// tuples, dicts and references to them; one that names or calls something is refused by its name. Whoever derives from
/// it takes things out of lists as they are filled, so that they need not be kept. Throws a Failure (Input).
class PickleMachine
{
public:
    explicit PickleMachine(const base::FileReader& file) : m_bytes(file) {}
    virtual ~PickleMachine() = default;
    PickleMachine(const PickleMachine&) = delete;
    PickleMachine& operator=(const PickleMachine&) = delete;

    /// Where the last instruction stands; of references behind each other the first.
    [[nodiscard]] std::uint64_t position() const { return m_at; }

protected:
    /// Carries everything out; the value that is left.
    PickledValue run();
    /// m_values are put into list `id`: true where they are taken in another way.
    virtual bool takesItems(std::uint32_t id) = 0;
    /// A list that became of this kind may still be filled.
    [[nodiscard]] virtual bool grows(PickledKind kind) const = 0;

    /// Counts bytes that stay in memory. Fails where they are out of proportion to the file.
    void claim(std::uint64_t bytes);
    std::int64_t textId(std::string_view text);
    bool push(PickledValue value);
    [[nodiscard]] const PickledValue& top() const;
    PickledValue pop();
    void release(std::uint32_t contents);
    [[nodiscard]] const PickledContainer& container(const PickledValue& value) const
    {
        return m_containers[static_cast<std::size_t>(value.number)];
    }
    [[nodiscard]] PickledContainer& container(const PickledValue& value)
    {
        return m_containers[static_cast<std::size_t>(value.number)];
    }

    std::vector<PickledValue> m_values; ///< what the instruction at hand took from the stack
    std::vector<PickledContainer> m_containers;
    std::vector<std::vector<PickledValue>> m_contents; ///< of lists and dicts that are whole values
    std::deque<std::string> m_texts;

private:
    struct TextHash
    {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };

    void carryOut(std::uint8_t code);
    [[noreturn]] static void refuse(std::uint8_t code);
    bool makesNumber(std::uint8_t code);
    bool pushNumber(std::int64_t number);
    /// Two's complement of so many bytes; addresses may need nine.
    bool pushLong(std::uint64_t length);
    bool pushLine(std::string_view line);
    bool makesText(std::uint8_t code);
    bool pushText(std::string_view text);
    bool remembers(std::uint8_t code);
    std::uint64_t lineNumber();
    bool keep(std::uint64_t at);
    bool get(std::uint64_t at);
    bool makesContainer(std::uint8_t code);
    void popValues(std::size_t count);
    void popToMark();
    bool pushNew(PickledKind kind);
    bool pushFilled(PickledKind kind);
    /// Puts m_values into the container on top.
    bool fill(PickledKind kind);
    void deepen(std::uint32_t id, const PickledValue& value);

    FileBytes m_bytes;
    std::uint64_t m_at = 0;
    std::size_t m_marks = 0;
    std::uint64_t m_made = 0;       ///< bytes that were claimed
    std::size_t m_deepestStack = 0; ///< most values that were on it
    std::vector<PickledValue> m_stack;
    std::vector<PickledValue> m_memo;
    std::vector<std::uint32_t> m_free; ///< positions in m_contents
    std::size_t m_count = 0;           ///< values in m_contents
    std::unordered_map<std::string_view, std::uint32_t, TextHash> m_textIds;
};

} // namespace retro::formats
