// SPDX-License-Identifier: Apache-2.0
#include "core/formats/memorysnapshot.h"

#include "core/base/failure.h"
#include "core/base/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

namespace retro::formats
{

namespace
{

using base::Result;

/// Longest text, and most values of lists and dicts that are neither events nor frames.
constexpr std::uint64_t kMaxText = 1U << 20U;
constexpr std::size_t kMaxValues = 64'000'000;
/// Most entries of the memo and of the stack: some 16 bytes each.
constexpr std::size_t kMaxMemo = 400'000'000;
/// Most bytes that all events and segments name together, so that no sum of them overflows.
constexpr std::uint64_t kMaxNamedBytes = 1ULL << 62U;
/// Times in seconds and the like; beyond that is no number that a snapshot has.
constexpr double kMostReal = 9e18;

[[noreturn]] void fail(std::string message, std::string where = {})
{
    throw base::Failure(base::inputError(std::move(message), std::move(where)));
}

/// The bytes of a file, one after the other.
class Bytes
{
public:
    explicit Bytes(const base::FileReader& file) : m_file(file), m_buffer(std::size_t{4} << 20U) {}

    [[nodiscard]] std::uint64_t position() const { return m_start + m_at; }

    std::uint8_t byte()
    {
        if (m_at == m_filled) {
            fill();
        }
        return static_cast<std::uint8_t>(m_buffer[m_at++]);
    }

    /// A whole number of so many bytes, the lowest first.
    std::uint64_t number(int count)
    {
        std::uint64_t value = 0;
        if (m_filled - m_at >= static_cast<std::uint64_t>(count) && std::endian::native == std::endian::little) {
            std::memcpy(&value, m_buffer.data() + m_at, static_cast<std::size_t>(count));
            m_at += static_cast<std::uint64_t>(count);
            return value;
        }
        for (int i = 0; i < count; ++i) {
            value |= std::uint64_t{byte()} << (8 * i);
        }
        return value;
    }

    /// Bytes up to a limit; valid until the next call.
    std::string_view text(std::uint64_t length)
    {
        if (length > kMaxText) {
            fail(fmt::format("a text of {} bytes is too long", length));
        }
        m_text.resize(length);
        for (std::uint64_t done = 0; done < length;) {
            if (m_at == m_filled) {
                fill();
            }
            const std::uint64_t count = std::min<std::uint64_t>(length - done, m_filled - m_at);
            std::memcpy(m_text.data() + done, m_buffer.data() + m_at, count);
            m_at += count;
            done += count;
        }
        return m_text;
    }

    /// Up to the end of the line, without it.
    std::string_view line()
    {
        m_text.clear();
        for (std::uint8_t next = byte(); next != '\n'; next = byte()) {
            if (m_text.size() >= kMaxText) {
                fail("a line is too long");
            }
            m_text.push_back(static_cast<char>(next));
        }
        return m_text;
    }

private:
    void fill()
    {
        m_start += m_filled;
        m_at = 0;
        m_filled = std::min<std::uint64_t>(m_buffer.size(), m_file.size() - m_start);
        if (m_filled == 0) {
            fail("the file ends early");
        }
        const Result<void> read = m_file.read(m_start, std::span(m_buffer).first(m_filled));
        if (!read.ok()) {
            throw base::Failure(read.error());
        }
    }

    const base::FileReader& m_file;
    std::vector<std::byte> m_buffer;
    std::uint64_t m_start = 0; ///< of the buffer, in the file
    std::uint64_t m_at = 0;
    std::uint64_t m_filled = 0;
    std::string m_text;
};

enum class Tag : std::uint8_t { None, Number, Real, Text, Container, Mark };

/// What lies on the stack or in the memo.
struct Value
{
    Tag tag = Tag::None;
    std::int64_t number = 0; ///< of a text its position, of a container its id
};

/// What became of a list, tuple or dict.
enum class Kind : std::uint8_t {
    List, ///< with its values
    Dict, ///< keys and values, in turn
    Event,
    Frame,
    Stack,
    Block,
    Segment,
    Trace, ///< events, one after the other
    Dropped
};

struct Container
{
    Kind kind = Kind::List;
    std::uint8_t depth = 1;
    std::uint32_t index = 0; ///< of its values, or of what it is, by kind
};

struct TextHash
{
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

struct StackHash
{
    std::size_t operator()(const std::vector<std::uint32_t>& stack) const
    {
        std::size_t hash = stack.size();
        for (const std::uint32_t frame : stack) {
            hash = (hash ^ frame) * 0x9E3779B97F4A7C15ULL;
            hash ^= hash >> 29U;
        }
        return hash;
    }
};

struct FrameKey
{
    std::uint32_t file = 0;
    std::uint32_t function = 0;
    std::int64_t line = 0;
    bool operator==(const FrameKey&) const = default;
};

struct FrameHash
{
    std::size_t operator()(const FrameKey& key) const
    {
        const std::uint64_t both = (std::uint64_t{key.file} << 32U) | key.function;
        return (both ^ static_cast<std::uint64_t>(key.line)) * 0x9E3779B97F4A7C15ULL;
    }
};

/// An instruction that is not carried out, and what it would do.
struct Refused
{
    std::uint8_t code;
    std::string_view name;
    std::string_view does;
};

constexpr std::array kRefused{
    Refused{'c', "GLOBAL", "names a class or function"},
    Refused{0x93, "STACK_GLOBAL", "names a class or function"},
    Refused{'R', "REDUCE", "calls a function"},
    Refused{'b', "BUILD", "fills an object"},
    Refused{'i', "INST", "makes an object"},
    Refused{'o', "OBJ", "makes an object"},
    Refused{0x81, "NEWOBJ", "makes an object"},
    Refused{0x92, "NEWOBJ_EX", "makes an object"},
    Refused{0x82, "EXT1", "names a registered class"},
    Refused{0x83, "EXT2", "names a registered class"},
    Refused{0x84, "EXT4", "names a registered class"},
    Refused{'P', "PERSID", "refers to something outside the file"},
    Refused{'Q', "BINPERSID", "refers to something outside the file"},
    Refused{0x97, "NEXT_BUFFER", "refers to something outside the file"},
    Refused{0x98, "READONLY_BUFFER", "refers to something outside the file"},
    Refused{0x96, "BYTEARRAY8", "makes an object"},
    Refused{0x8F, "EMPTY_SET", "makes a set"},
    Refused{0x90, "ADDITEMS", "fills a set"},
    Refused{0x91, "FROZENSET", "makes a set"},
};

/// Keys that are looked for; their texts get these positions.
enum Key : std::int64_t {
    kAction,
    kAddr,
    kAddress,
    kBlocks,
    kDevice,
    kDeviceTraces,
    kFilename,
    kFrames,
    kLine,
    kName,
    kSegments,
    kSize,
    kState,
    kTimeUs,
    kTotalSize
};
constexpr std::array<std::string_view, 15> kKeys{"action",        "addr",     "address", "blocks",  "device",
                                                 "device_traces", "filename", "frames",  "line",    "name",
                                                 "segments",      "size",     "state",   "time_us", "total_size"};

/// Carries the instructions out that make data, and takes events out of it as soon as they are whole.
class SnapshotReader
{
public:
    explicit SnapshotReader(const base::FileReader& file) : m_bytes(file)
    {
        for (const std::string_view key : kKeys) {
            textId(key);
        }
    }

    MemorySnapshot read()
    {
        for (;;) {
            m_at = m_bytes.position();
            const std::uint8_t code = m_bytes.byte();
            if (code == '.') {
                break;
            }
            carryOut(code);
        }
        return snapshotOf(pop());
    }

    /// Where the last instruction stands.
    [[nodiscard]] std::uint64_t position() const { return m_at; }

private:
    // ------------------------------------------------------------------------------------------------ instructions

    void carryOut(std::uint8_t code)
    {
        if (code == 'j') { // nine of ten instructions of a trace
            get(m_bytes.number(4));
            return;
        }
        if (makesNumber(code) || makesText(code) || remembers(code) || makesContainer(code)) {
            return;
        }
        switch (code) {
        case 0x80: // PROTO
            if (const std::uint8_t version = m_bytes.byte(); version > 5) {
                fail(fmt::format("pickle protocol {} is newer than this program, which reads up to 5", version));
            }
            return;
        case 0x95: // FRAME
            m_bytes.number(8);
            return;
        case '0': // POP
            pop();
            return;
        case '1': // POP_MARK
            popToMark();
            m_values.clear();
            return;
        case '2': // DUP
            push(top());
            return;
        default:
            refuse(code);
        }
    }

    [[noreturn]] static void refuse(std::uint8_t code)
    {
        const auto* known = std::ranges::find(kRefused, code, &Refused::code);
        if (known != kRefused.end()) {
            fail(fmt::format("the instruction {} {}; a memory snapshot holds data alone, and nothing else is read",
                             known->name, known->does));
        }
        fail(fmt::format("0x{:02x} is no instruction of a pickle that holds data", code));
    }

    bool makesNumber(std::uint8_t code)
    {
        switch (code) {
        case 'N':
            return push({Tag::None, 0});
        case 0x88:
            return pushNumber(1);
        case 0x89:
            return pushNumber(0);
        case 'K':
            return pushNumber(m_bytes.byte());
        case 'M':
            return pushNumber(static_cast<std::int64_t>(m_bytes.number(2)));
        case 'J':
            return pushNumber(static_cast<std::int32_t>(m_bytes.number(4)));
        case 0x8A:
            return pushLong(m_bytes.byte());
        case 0x8B:
            return pushLong(m_bytes.number(4));
        case 'I':
        case 'L':
            return pushLine(m_bytes.line());
        case 'G': {
            std::uint64_t bits = 0;
            for (int i = 0; i < 8; ++i) {
                bits = bits << 8U | m_bytes.byte();
            }
            const double real = std::bit_cast<double>(bits);
            const bool isWithin = real > -kMostReal && real < kMostReal;
            return push({Tag::Real, isWithin ? static_cast<std::int64_t>(real) : 0});
        }
        case 'F':
            m_bytes.line();
            return push({Tag::Real, 0});
        default:
            return false;
        }
    }

    bool pushNumber(std::int64_t number) { return push({Tag::Number, number}); }

    /// Two's complement of so many bytes; addresses may need nine.
    bool pushLong(std::uint64_t length)
    {
        if (length > 16) {
            fail(fmt::format("a number of {} bytes is too large", length));
        }
        std::uint64_t number = 0;
        std::uint8_t last = 0;
        for (std::uint64_t i = 0; i < length; ++i) {
            last = m_bytes.byte();
            number |= i < 8 ? std::uint64_t{last} << (8 * i) : 0;
        }
        if (length > 0 && length < 8 && (last & 0x80U) != 0) {
            number |= ~std::uint64_t{0} << (8 * length);
        }
        return pushNumber(static_cast<std::int64_t>(number));
    }

    bool pushLine(std::string_view line)
    {
        const std::string_view digits = line.ends_with('L') ? line.substr(0, line.size() - 1) : line;
        std::int64_t number = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) {
            fail(fmt::format("\"{}\" is no number", std::string(digits.substr(0, 40))));
        }
        return pushNumber(number);
    }

    bool makesText(std::uint8_t code)
    {
        switch (code) {
        case 0x8C: // SHORT_BINUNICODE
        case 'U':  // SHORT_BINSTRING
        case 'C':  // SHORT_BINBYTES
            return pushText(m_bytes.text(m_bytes.byte()));
        case 'X': // BINUNICODE
        case 'T': // BINSTRING
        case 'B': // BINBYTES
            return pushText(m_bytes.text(m_bytes.number(4)));
        case 0x8D: // BINUNICODE8
        case 0x8E: // BINBYTES8
            return pushText(m_bytes.text(m_bytes.number(8)));
        case 'V': // UNICODE
        case 'S': // STRING
            return pushText(m_bytes.line());
        default:
            return false;
        }
    }

    bool pushText(std::string_view text) { return push({Tag::Text, textId(text)}); }

    std::int64_t textId(std::string_view text)
    {
        const auto known = m_textIds.find(text);
        if (known != m_textIds.end()) {
            return known->second;
        }
        const auto id = static_cast<std::uint32_t>(m_texts.size());
        m_texts.emplace_back(text);
        m_textIds.emplace(m_texts.back(), id); // a deque keeps its texts where they are
        return id;
    }

    bool remembers(std::uint8_t code)
    {
        switch (code) {
        case 0x94: // MEMOIZE
            return keep(m_memo.size());
        case 'q':
            return keep(m_bytes.byte());
        case 'r':
            return keep(m_bytes.number(4));
        case 'p':
            return keep(lineNumber());
        case 'h':
            return get(m_bytes.byte());
        case 'j':
            return get(m_bytes.number(4));
        case 'g':
            return get(lineNumber());
        default:
            return false;
        }
    }

    std::uint64_t lineNumber()
    {
        pushLine(m_bytes.line());
        const Value number = pop();
        if (number.number < 0) {
            fail("a reference cannot be negative");
        }
        return static_cast<std::uint64_t>(number.number);
    }

    bool keep(std::uint64_t at)
    {
        // References count up, one for each instruction at most; a gap would be a large block for nothing.
        if (at >= kMaxMemo || at > m_bytes.position()) {
            fail(fmt::format("reference {} is beyond what was made", at));
        }
        if (at >= m_memo.size()) {
            m_memo.resize(at + 1);
        }
        m_memo[at] = top();
        return true;
    }

    bool get(std::uint64_t at)
    {
        if (at >= m_memo.size()) {
            fail(fmt::format("reference {} is to nothing", at));
        }
        return push(m_memo[at]);
    }

    bool makesContainer(std::uint8_t code)
    {
        switch (code) {
        case '(':
            if (++m_marks > kMaxSnapshotDepth) {
                fail(fmt::format("it is nested deeper than {}", kMaxSnapshotDepth));
            }
            return push({Tag::Mark, 0});
        case ']':
        case ')':
            return pushNew(Kind::List);
        case '}':
            return pushNew(Kind::Dict);
        case 'l': // LIST
        case 't': // TUPLE
            popToMark();
            return pushFilled(Kind::List);
        case 'd': // DICT
            popToMark();
            return pushFilled(Kind::Dict);
        case 0x85:
        case 0x86:
        case 0x87:
            popValues(code - 0x84);
            return pushFilled(Kind::List);
        case 'a': // APPEND
            popValues(1);
            return fill(Kind::List);
        case 'e': // APPENDS
            popToMark();
            return fill(Kind::List);
        case 's': // SETITEM
            popValues(2);
            return fill(Kind::Dict);
        case 'u': // SETITEMS
            popToMark();
            return fill(Kind::Dict);
        default:
            return false;
        }
    }

    // ------------------------------------------------------------------------------------------------ stack

    bool push(Value value)
    {
        if (m_stack.size() >= kMaxValues) {
            fail("too many values wait to be put somewhere");
        }
        m_stack.push_back(value);
        return true;
    }

    [[nodiscard]] const Value& top() const
    {
        if (m_stack.empty() || m_stack.back().tag == Tag::Mark) {
            fail("an instruction needs a value, and there is none");
        }
        return m_stack.back();
    }

    Value pop()
    {
        const Value value = top();
        m_stack.pop_back();
        return value;
    }

    void popValues(std::size_t count)
    {
        m_values.clear();
        for (std::size_t i = 0; i < count; ++i) {
            m_values.push_back(pop());
        }
        std::ranges::reverse(m_values);
    }

    void popToMark()
    {
        m_values.clear();
        std::size_t from = m_stack.size();
        while (from > 0 && m_stack[from - 1].tag != Tag::Mark) {
            --from;
        }
        if (from == 0) {
            fail("an instruction needs a mark, and there is none");
        }
        m_values.assign(m_stack.begin() + static_cast<std::ptrdiff_t>(from), m_stack.end());
        m_stack.resize(from - 1);
        --m_marks;
    }

    // ------------------------------------------------------------------------------------------------ containers

    bool pushNew(Kind kind)
    {
        std::uint32_t index = 0;
        if (m_free.empty()) {
            index = static_cast<std::uint32_t>(m_contents.size());
            m_contents.emplace_back();
        } else {
            index = m_free.back();
            m_free.pop_back();
        }
        if (m_containers.size() >= kMaxMemo) {
            fail("it holds too many lists and dicts");
        }
        m_containers.push_back({kind, 1, index});
        return push({Tag::Container, static_cast<std::int64_t>(m_containers.size() - 1)});
    }

    bool pushFilled(Kind kind)
    {
        std::vector<Value> values;
        values.swap(m_values);
        pushNew(kind);
        m_values.swap(values);
        return fill(kind);
    }

    /// Puts m_values into the container on top.
    bool fill(Kind kind)
    {
        if (top().tag != Tag::Container) {
            fail("what is filled is no list and no dict");
        }
        const auto id = static_cast<std::uint32_t>(top().number);
        const bool isTrace = m_containers[id].kind == Kind::Trace && kind == Kind::List;
        const bool isStack = m_containers[id].kind == Kind::Stack && kind == Kind::List;
        if (m_containers[id].kind != kind && !isTrace && !isStack) {
            fail("a list or dict grows after it was put into another one");
        }
        if (kind == Kind::Dict && m_values.size() % 2 != 0) {
            fail("a dict has a key without a value");
        }
        for (const Value& value : m_values) {
            deepen(id, value);
        }
        if (kind == Kind::List && (isTrace || isStack || !m_values.empty()) && takesItems(id)) {
            return true;
        }
        std::vector<Value>& contents = m_contents[m_containers[id].index];
        m_count += m_values.size();
        if (m_count > kMaxValues) {
            fail("it holds too many values");
        }
        contents.insert(contents.end(), m_values.begin(), m_values.end());
        return true;
    }

    void deepen(std::uint32_t id, const Value& value)
    {
        if (value.tag != Tag::Container) {
            return;
        }
        if (value.number == id) {
            fail("a list or dict contains itself");
        }
        const std::size_t depth = std::size_t{m_containers[static_cast<std::size_t>(value.number)].depth} + 1;
        if (depth > kMaxSnapshotDepth) {
            fail(fmt::format("it is nested deeper than {}", kMaxSnapshotDepth));
        }
        m_containers[id].depth = std::max(m_containers[id].depth, static_cast<std::uint8_t>(depth));
    }

    [[nodiscard]] bool isEvent(const Value& value) const
    {
        return value.tag == Tag::Container && container(value).kind == Kind::Event;
    }

    /// True where m_values are events or frames, which a list does not keep as values.
    bool takesItems(std::uint32_t id)
    {
        std::size_t events = 0;
        std::size_t frames = 0;
        for (const Value& value : m_values) { // dicts that are put into a list are whole: they become what they are
            if (value.tag != Tag::Container) {
                continue;
            }
            if (container(value).kind == Kind::Dict) {
                settle(container(value));
            }
            events += container(value).kind == Kind::Event ? 1 : 0;
            frames += container(value).kind == Kind::Frame ? 1 : 0;
        }
        const Kind kind = m_containers[id].kind;
        const bool isEmpty = kind == Kind::List && m_contents[m_containers[id].index].empty();
        if ((events > 0 || kind == Kind::Trace) && (events != m_values.size() || !(isEmpty || kind == Kind::Trace))) {
            fail("a trace has something in it that is no event, or an event twice");
        }
        if (events > 0) {
            addEvents(id);
        } else if (frames == m_values.size() && frames > 0 && (isEmpty || kind == Kind::Stack)) {
            addFrames(id);
        } else if (kind == Kind::Stack && !m_values.empty()) {
            fail("a stack has something in it that is no frame");
        }
        return m_containers[id].kind != Kind::List;
    }

    void addFrames(std::uint32_t id)
    {
        m_framesOfStack.clear();
        if (m_containers[id].kind == Kind::Stack) {
            m_framesOfStack = *m_stacks[m_containers[id].index];
        } else {
            release(m_containers[id].index);
        }
        for (const Value& value : m_values) {
            m_framesOfStack.push_back(container(value).index);
        }
        m_containers[id].kind = Kind::Stack;
        m_containers[id].index = stackId(m_framesOfStack);
    }

    [[nodiscard]] const Container& container(const Value& value) const
    {
        return m_containers[static_cast<std::size_t>(value.number)];
    }
    [[nodiscard]] Container& container(const Value& value)
    {
        return m_containers[static_cast<std::size_t>(value.number)];
    }

    void addEvents(std::uint32_t id)
    {
        if (m_containers[id].kind != Kind::Trace) {
            release(m_containers[id].index);
            m_containers[id].kind = Kind::Trace;
            m_containers[id].index = static_cast<std::uint32_t>(m_traces.size());
            m_traces.emplace_back();
        }
        std::vector<AllocatorEvent>& trace = m_traces[m_containers[id].index];
        for (const Value& value : m_values) {
            if (!isEvent(value)) {
                fail("an event stands twice in a trace");
            }
            trace.push_back(m_events[container(value).index]);
            container(value).kind = Kind::Dropped;
        }
        m_events.clear(); // each is in its trace
    }

    void release(std::uint32_t contents)
    {
        m_count -= std::min(m_count, m_contents[contents].size());
        m_contents[contents].clear();
        if (m_contents[contents].capacity() > 64) {
            m_contents[contents].shrink_to_fit();
        }
        m_free.push_back(contents);
    }

    [[nodiscard]] static const Value* find(const std::vector<Value>& dict, Key key)
    {
        for (std::size_t i = 0; i + 1 < dict.size(); i += 2) {
            if (dict[i].tag == Tag::Text && dict[i].number == key) {
                return &dict[i + 1];
            }
        }
        return nullptr;
    }

    [[nodiscard]] static std::uint64_t numberAt(const std::vector<Value>& dict, Key key)
    {
        const Value* value = find(dict, key);
        return value != nullptr && (value->tag == Tag::Number || value->tag == Tag::Real)
                   ? static_cast<std::uint64_t>(value->number)
                   : 0;
    }

    std::uint64_t sizeAt(const std::vector<Value>& dict, Key key)
    {
        const std::uint64_t size = numberAt(dict, key);
        if (size > kMaxNamedBytes - m_named) {
            fail("its sizes together are larger than any memory");
        }
        m_named += size;
        return size;
    }

    [[nodiscard]] std::uint32_t textAt(const std::vector<Value>& dict, Key key)
    {
        const Value* value = find(dict, key);
        return value != nullptr && value->tag == Tag::Text ? static_cast<std::uint32_t>(value->number)
                                                           : static_cast<std::uint32_t>(textId(""));
    }

    void settle(Container& dict)
    {
        const std::uint32_t contents = dict.index;
        const std::vector<Value>& values = m_contents[contents];
        if (find(values, kAction) != nullptr) {
            const AllocatorEvent event = eventOf(values);
            dict.kind = Kind::Event;
            dict.index = static_cast<std::uint32_t>(m_events.size());
            m_events.push_back(event);
        } else if (find(values, kFilename) != nullptr && find(values, kLine) != nullptr) {
            dict.index = frameOf(values);
            dict.kind = Kind::Frame;
        } else if (find(values, kBlocks) != nullptr) {
            dict.index = segmentOf(values);
            dict.kind = Kind::Segment;
        } else if (find(values, kState) != nullptr && find(values, kSize) != nullptr) {
            SnapshotBlock block;
            block.address = numberAt(values, kAddress);
            block.size = sizeAt(values, kSize);
            block.stack = stackAt(values);
            const std::string& state = m_texts[textAt(values, kState)];
            block.isActive = state.starts_with("active");
            dict.index = static_cast<std::uint32_t>(m_blocks.size());
            dict.kind = Kind::Block;
            m_blocks.push_back(block);
        } else {
            return; // something else, which stays as it is
        }
        release(contents);
    }

    AllocatorEvent eventOf(const std::vector<Value>& values)
    {
        AllocatorEvent event;
        event.address = numberAt(values, kAddr);
        event.size = sizeAt(values, kSize);
        event.time = static_cast<std::int64_t>(numberAt(values, kTimeUs));
        event.action = actionAt(values);
        event.stack = stackAt(values);
        return event;
    }

    AllocatorAction actionAt(const std::vector<Value>& values)
    {
        static constexpr std::array<std::pair<std::string_view, AllocatorAction>, 8> kActions{
            std::pair{"alloc", AllocatorAction::Alloc},
            std::pair{"free_requested", AllocatorAction::FreeRequested},
            std::pair{"free_completed", AllocatorAction::FreeCompleted},
            std::pair{"free", AllocatorAction::FreeCompleted},
            std::pair{"segment_alloc", AllocatorAction::SegmentAlloc},
            std::pair{"segment_map", AllocatorAction::SegmentAlloc},
            std::pair{"segment_free", AllocatorAction::SegmentFree},
            std::pair{"segment_unmap", AllocatorAction::SegmentFree}};
        const std::string& name = m_texts[textAt(values, kAction)];
        const auto* known = std::ranges::find(kActions, name, [](const auto& one) { return one.first; });
        return known == kActions.end() ? AllocatorAction::Other : known->second;
    }

    std::uint32_t frameOf(const std::vector<Value>& values)
    {
        const FrameKey key{textAt(values, kFilename), textAt(values, kName),
                           static_cast<std::int64_t>(numberAt(values, kLine))};
        const auto [at, isNew] = m_frameIds.try_emplace(key, static_cast<std::uint32_t>(m_found.frames.size()));
        if (isNew) {
            m_found.frames.push_back({key.file, key.function, key.line});
        }
        return at->second;
    }

    /// The list of frames of an event or block.
    std::uint32_t stackAt(const std::vector<Value>& values)
    {
        const Value* value = find(values, kFrames);
        if (value == nullptr || value->tag != Tag::Container) {
            return kNoStack;
        }
        const Container& list = container(*value);
        if (list.kind == Kind::Stack) {
            return list.index;
        }
        return kNoStack;
    }

    std::uint32_t stackId(const std::vector<std::uint32_t>& frames)
    {
        const auto [at, isNew] = m_stackIds.try_emplace(frames, static_cast<std::uint32_t>(m_stacks.size()));
        if (isNew) {
            m_stacks.push_back(&at->first); // a map keeps its keys where they are
            m_stackFrames += frames.size();
        }
        if (m_stackFrames > kMaxValues) {
            fail("its stacks have too many frames");
        }
        return at->second;
    }

    std::uint32_t segmentOf(const std::vector<Value>& values)
    {
        SnapshotSegment segment;
        segment.device = static_cast<std::int64_t>(numberAt(values, kDevice));
        segment.address = numberAt(values, kAddress);
        segment.bytes = sizeAt(values, kTotalSize);
        const Value* blocks = find(values, kBlocks);
        std::uint64_t address = segment.address;
        if (blocks->tag == Tag::Container && container(*blocks).kind == Kind::Dropped) {
            fail("two segments have the same blocks");
        }
        if (blocks->tag == Tag::Container && container(*blocks).kind == Kind::List) {
            for (const Value& item : m_contents[container(*blocks).index]) {
                if (item.tag != Tag::Container || container(item).kind != Kind::Block) {
                    continue;
                }
                SnapshotBlock block = m_blocks[container(item).index];
                block.address = block.address == 0 ? address : block.address; // older versions leave it out
                address = block.address + block.size;
                segment.blocks.push_back(block);
                container(item).kind = Kind::Dropped;
            }
            release(container(*blocks).index);
            container(*blocks).kind = Kind::Dropped;
        }
        m_found.segments.push_back(std::move(segment));
        return static_cast<std::uint32_t>(m_found.segments.size() - 1);
    }

    // ------------------------------------------------------------------------------------------------ the end

    MemorySnapshot snapshotOf(const Value& root)
    {
        const bool isDict = root.tag == Tag::Container && container(root).kind == Kind::Dict;
        const bool isList = root.tag == Tag::Container && container(root).kind == Kind::List;
        if (isDict) {
            const std::vector<Value>& members = m_contents[container(root).index];
            if (find(members, kSegments) == nullptr && find(members, kDeviceTraces) == nullptr) {
                fail("it is no memory snapshot: it has neither segments nor device_traces");
            }
            takeTraces(find(members, kDeviceTraces));
        } else if (!isList || m_found.segments.empty()) { // older versions wrote the segments alone
            fail("it is no memory snapshot: torch.cuda.memory._dump_snapshot writes a dict");
        }
        m_found.texts.assign(std::make_move_iterator(m_texts.begin()), std::make_move_iterator(m_texts.end()));
        for (const std::vector<std::uint32_t>* frames : m_stacks) {
            m_found.stacks.push_back(*frames);
        }
        return std::move(m_found);
    }

    void takeTraces(const Value* traces)
    {
        if (traces == nullptr || traces->tag != Tag::Container || container(*traces).kind != Kind::List) {
            return;
        }
        for (const Value& item : m_contents[container(*traces).index]) {
            const bool isTrace = item.tag == Tag::Container && container(item).kind == Kind::Trace;
            m_found.traces.push_back(isTrace ? std::move(m_traces[container(item).index])
                                             : std::vector<AllocatorEvent>());
        }
    }

    Bytes m_bytes;
    std::uint64_t m_at = 0;
    std::size_t m_marks = 0;
    std::vector<Value> m_stack;
    std::vector<Value> m_values; ///< what the instruction at hand took from the stack
    std::vector<Value> m_memo;
    std::vector<Container> m_containers;
    std::vector<std::vector<Value>> m_contents; ///< of lists and dicts that are not settled
    std::vector<std::uint32_t> m_free;          ///< positions in m_contents
    std::size_t m_count = 0;                    ///< values in m_contents
    std::deque<std::string> m_texts;
    std::unordered_map<std::string_view, std::uint32_t, TextHash> m_textIds;
    std::unordered_map<FrameKey, std::uint32_t, FrameHash> m_frameIds;
    std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, StackHash> m_stackIds;
    std::vector<const std::vector<std::uint32_t>*> m_stacks; ///< keys of m_stackIds, by id
    std::size_t m_stackFrames = 0;                           ///< in all of them
    std::uint64_t m_named = 0;                               ///< bytes that events, blocks and segments name
    std::vector<std::uint32_t> m_framesOfStack;
    std::vector<AllocatorEvent> m_events; ///< those that no trace has taken yet
    std::vector<SnapshotBlock> m_blocks;
    std::vector<std::vector<AllocatorEvent>> m_traces;
    MemorySnapshot m_found;
};

} // namespace

bool looksLikePickle(const std::filesystem::path& path)
{
    const Result<base::FileReader> file = base::FileReader::open(path, kMaxSnapshotBytes);
    std::array<std::byte, 2> head{};
    return file.ok() && file->size() >= head.size() && file->read(0, head).ok() && head[0] == std::byte{0x80} &&
           head[1] <= std::byte{5} && head[1] >= std::byte{2};
}

Result<MemorySnapshot> readMemorySnapshot(const std::filesystem::path& path)
{
    RETRO_TRY(const base::FileReader file, base::FileReader::open(path, kMaxSnapshotBytes));
    SnapshotReader reader(file);
    Result<MemorySnapshot> read = base::caught([&]() -> Result<MemorySnapshot> { return reader.read(); });
    if (!read.ok() && read.error().code == base::ErrorCode::Input) {
        return base::within(base::within(read.error(), fmt::format("at byte {}", reader.position())), path.string());
    }
    return read;
}

} // namespace retro::formats
