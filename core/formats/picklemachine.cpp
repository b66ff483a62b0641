// SPDX-License-Identifier: Apache-2.0
#include "core/formats/picklemachine.h"

#include "core/base/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <span>

namespace retro::formats
{

namespace
{

/// Longest text, and most values of lists and dicts that nobody takes out.
constexpr std::uint64_t kMaxText = 1U << 20U;
constexpr std::size_t kMaxValues = 64'000'000;
/// Most entries of the memo and of the stack: some 16 bytes each.
constexpr std::size_t kMaxMemo = 400'000'000;
/// Bytes that are made whatever the file holds, and per byte of the file beyond that. Snapshots need some four.
constexpr std::uint64_t kMadeBytesAnyway = 256ULL << 20U;
constexpr std::uint64_t kMadeBytesPerByte = 8;
/// What an entry of a hash map takes beside its text, and a block of memory beside what is in it.
constexpr std::uint64_t kBytesOfText = 96;
constexpr std::uint64_t kBytesOfBlock = 32;
/// Times in seconds and the like; beyond that is no number that a snapshot has.
constexpr double kMostReal = 9e18;

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

} // namespace

void failPickle(std::string message) { throw base::Failure(base::inputError(std::move(message))); }

std::uint64_t FileBytes::number(int count)
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

std::string_view FileBytes::text(std::uint64_t length)
{
    if (length > kMaxText) {
        failPickle(fmt::format("a text of {} bytes is too long", length));
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

std::string_view FileBytes::line()
{
    m_text.clear();
    for (std::uint8_t next = byte(); next != '\n'; next = byte()) {
        if (m_text.size() >= kMaxText) {
            failPickle("a line is too long");
        }
        m_text.push_back(static_cast<char>(next));
    }
    return m_text;
}

void FileBytes::fill()
{
    m_start += m_filled;
    m_at = 0;
    m_filled = std::min<std::uint64_t>(m_buffer.size(), m_file.size() - m_start);
    if (m_filled == 0) {
        failPickle("the file ends early");
    }
    const base::Result<void> read = m_file.read(m_start, std::span(m_buffer).first(m_filled));
    if (!read.ok()) {
        throw base::Failure(read.error());
    }
}

void PickleMachine::claim(std::uint64_t bytes)
{
    m_made += bytes;
    const std::uint64_t most = std::max(kMadeBytesAnyway, kMadeBytesPerByte * m_bytes.size());
    if (m_made > most) {
        failPickle(fmt::format("its lists, dicts and texts take more than {} MiB, which is out of proportion to the "
                               "file; record a snapshot again",
                               most >> 20U));
    }
}

PickledValue PickleMachine::run()
{
    for (;;) {
        m_at = m_bytes.position();
        const std::uint8_t code = m_bytes.byte();
        if (code == '.') {
            return pop();
        }
        carryOut(code);
    }
}

void PickleMachine::carryOut(std::uint8_t code)
{
    if (code == 'j') { // nine of ten instructions of a trace, the frames of a stack behind each other
        do {
            get(m_bytes.four());
        } while (m_bytes.skips('j'));
        return;
    }
    if (makesNumber(code) || makesText(code) || remembers(code) || makesContainer(code)) {
        return;
    }
    switch (code) {
    case 0x80: // PROTO
        if (const std::uint8_t version = m_bytes.byte(); version > 5) {
            failPickle(fmt::format("pickle protocol {} is newer than this program, which reads up to 5", version));
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

[[noreturn]] void PickleMachine::refuse(std::uint8_t code)
{
    const auto* known = std::ranges::find(kRefused, code, &Refused::code);
    if (known != kRefused.end()) {
        failPickle(fmt::format("the instruction {} {}; a memory snapshot holds data alone, and nothing else is read",
                               known->name, known->does));
    }
    failPickle(fmt::format("0x{:02x} is no instruction of a pickle that holds data", code));
}

bool PickleMachine::makesNumber(std::uint8_t code)
{
    switch (code) {
    case 'N':
        return push({PickledTag::None, 0});
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
        return push({PickledTag::Real, isWithin ? static_cast<std::int64_t>(real) : 0});
    }
    case 'F':
        m_bytes.line();
        return push({PickledTag::Real, 0});
    default:
        return false;
    }
}

bool PickleMachine::pushNumber(std::int64_t number) { return push({PickledTag::Number, number}); }

bool PickleMachine::pushLong(std::uint64_t length)
{
    if (length > 16) {
        failPickle(fmt::format("a number of {} bytes is too large", length));
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

bool PickleMachine::pushLine(std::string_view line)
{
    const std::string_view digits = line.ends_with('L') ? line.substr(0, line.size() - 1) : line;
    std::int64_t number = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) {
        failPickle(fmt::format("\"{}\" is no number", std::string(digits.substr(0, 40))));
    }
    return pushNumber(number);
}

bool PickleMachine::makesText(std::uint8_t code)
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

bool PickleMachine::pushText(std::string_view text) { return push({PickledTag::Text, textId(text)}); }

std::int64_t PickleMachine::textId(std::string_view text)
{
    const auto known = m_textIds.find(text);
    if (known != m_textIds.end()) {
        return known->second;
    }
    claim(kBytesOfText + text.size());
    const auto id = static_cast<std::uint32_t>(m_texts.size());
    m_texts.emplace_back(text);
    m_textIds.emplace(m_texts.back(), id); // a deque keeps its texts where they are
    return id;
}

bool PickleMachine::remembers(std::uint8_t code)
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

std::uint64_t PickleMachine::lineNumber()
{
    pushLine(m_bytes.line());
    const PickledValue number = pop();
    if (number.number < 0) {
        failPickle("a reference cannot be negative");
    }
    return static_cast<std::uint64_t>(number.number);
}

bool PickleMachine::keep(std::uint64_t at)
{
    // References count up, one for each instruction at most; a gap would be a large block for nothing.
    if (at >= kMaxMemo || at > m_bytes.position()) {
        failPickle(fmt::format("reference {} is beyond what was made", at));
    }
    if (at >= m_memo.size()) {
        claim((at + 1 - m_memo.size()) * sizeof(PickledValue));
        m_memo.resize(at + 1);
    }
    m_memo[at] = top();
    return true;
}

bool PickleMachine::get(std::uint64_t at)
{
    if (at >= m_memo.size()) {
        failPickle(fmt::format("reference {} is to nothing", at));
    }
    return push(m_memo[at]);
}

bool PickleMachine::makesContainer(std::uint8_t code)
{
    switch (code) {
    case '(':
        if (++m_marks > kMaxPickleDepth) {
            failPickle(fmt::format("it is nested deeper than {}", kMaxPickleDepth));
        }
        return push({PickledTag::Mark, 0});
    case ']':
    case ')':
        return pushNew(kPickledList);
    case '}':
        return pushNew(kPickledDict);
    case 'l': // LIST
    case 't': // TUPLE
        popToMark();
        return pushFilled(kPickledList);
    case 'd': // DICT
        popToMark();
        return pushFilled(kPickledDict);
    case 0x85:
    case 0x86:
    case 0x87:
        popValues(code - 0x84);
        return pushFilled(kPickledList);
    case 'a': // APPEND
        popValues(1);
        return fill(kPickledList);
    case 'e': // APPENDS
        popToMark();
        return fill(kPickledList);
    case 's': // SETITEM
        popValues(2);
        return fill(kPickledDict);
    case 'u': // SETITEMS
        popToMark();
        return fill(kPickledDict);
    default:
        return false;
    }
}

bool PickleMachine::push(PickledValue value)
{
    if (m_stack.size() >= kMaxValues) {
        failPickle("too many values wait to be put somewhere");
    }
    if (m_stack.size() == m_deepestStack) {
        claim(sizeof(PickledValue));
        ++m_deepestStack;
    }
    m_stack.push_back(value);
    return true;
}

const PickledValue& PickleMachine::top() const
{
    if (m_stack.empty() || m_stack.back().tag == PickledTag::Mark) {
        failPickle("an instruction needs a value, and there is none");
    }
    return m_stack.back();
}

PickledValue PickleMachine::pop()
{
    const PickledValue value = top();
    m_stack.pop_back();
    return value;
}

void PickleMachine::popValues(std::size_t count)
{
    m_values.clear();
    for (std::size_t i = 0; i < count; ++i) {
        m_values.push_back(pop());
    }
    std::ranges::reverse(m_values);
}

void PickleMachine::popToMark()
{
    m_values.clear();
    std::size_t from = m_stack.size();
    while (from > 0 && m_stack[from - 1].tag != PickledTag::Mark) {
        --from;
    }
    if (from == 0) {
        failPickle("an instruction needs a mark, and there is none");
    }
    m_values.assign(m_stack.begin() + static_cast<std::ptrdiff_t>(from), m_stack.end());
    m_stack.resize(from - 1);
    --m_marks;
}

bool PickleMachine::pushNew(PickledKind kind)
{
    std::uint32_t index = 0;
    if (m_free.empty()) {
        claim(sizeof(m_contents.front()));
        index = static_cast<std::uint32_t>(m_contents.size());
        m_contents.emplace_back();
    } else {
        index = m_free.back();
        m_free.pop_back();
    }
    if (m_containers.size() >= kMaxMemo) {
        failPickle("it holds too many lists and dicts");
    }
    claim(sizeof(PickledContainer));
    m_containers.push_back({kind, 1, index});
    return push({PickledTag::Container, static_cast<std::int64_t>(m_containers.size() - 1)});
}

bool PickleMachine::pushFilled(PickledKind kind)
{
    std::vector<PickledValue> values;
    values.swap(m_values);
    pushNew(kind);
    m_values.swap(values);
    return fill(kind);
}

bool PickleMachine::fill(PickledKind kind)
{
    if (top().tag != PickledTag::Container) {
        failPickle("what is filled is no list and no dict");
    }
    const auto id = static_cast<std::uint32_t>(top().number);
    const bool isGrown = m_containers[id].kind != kind && kind == kPickledList && grows(m_containers[id].kind);
    if (m_containers[id].kind != kind && !isGrown) {
        failPickle("a list or dict grows after it was put into another one");
    }
    if (kind == kPickledDict && m_values.size() % 2 != 0) {
        failPickle("a dict has a key without a value");
    }
    for (const PickledValue& value : m_values) {
        deepen(id, value);
    }
    if (kind == kPickledList && (isGrown || !m_values.empty()) && takesItems(id)) {
        return true;
    }
    std::vector<PickledValue>& contents = m_contents[m_containers[id].index];
    m_count += m_values.size();
    if (m_count > kMaxValues) {
        failPickle("it holds too many values");
    }
    claim(m_values.size() * sizeof(PickledValue) + (contents.capacity() == 0 ? kBytesOfBlock : 0));
    contents.insert(contents.end(), m_values.begin(), m_values.end());
    return true;
}

void PickleMachine::deepen(std::uint32_t id, const PickledValue& value)
{
    if (value.tag != PickledTag::Container) {
        return;
    }
    if (value.number == id) {
        failPickle("a list or dict contains itself");
    }
    const std::size_t depth = std::size_t{m_containers[static_cast<std::size_t>(value.number)].depth} + 1;
    if (depth > kMaxPickleDepth) {
        failPickle(fmt::format("it is nested deeper than {}", kMaxPickleDepth));
    }
    m_containers[id].depth = std::max(m_containers[id].depth, static_cast<std::uint8_t>(depth));
}

void PickleMachine::release(std::uint32_t contents)
{
    const std::size_t count = std::min(m_count, m_contents[contents].size());
    m_count -= count;
    m_made -= count * sizeof(PickledValue);
    m_contents[contents].clear();
    if (m_contents[contents].capacity() > 64) {
        m_contents[contents].shrink_to_fit();
    }
    m_free.push_back(contents);
}

} // namespace retro::formats
