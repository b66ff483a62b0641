// SPDX-License-Identifier: Apache-2.0
#include "core/base/jsontext.h"

#include "core/base/visibletext.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace retro::base
{

using nlohmann::json;

namespace
{

constexpr std::size_t kMostFieldText = 200; // of a field in a message

// What a value takes at most, with the room that its list keeps in advance.
constexpr std::size_t kBytesOfValue = 24;
constexpr std::size_t kBytesOfText = 48; // without its characters, of which there are no more than in the file
constexpr std::size_t kBytesOfList = 80;
constexpr std::size_t kBytesOfMember = 96; // without its value

/// Reads characters and tells how far the parser has come.
class CountingIterator
{
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* position, const char** furthest) : m_position(position), m_furthest(furthest) {}
    reference operator*() const { return *m_position; }
    CountingIterator& operator++()
    {
        *m_furthest = ++m_position;
        return *this;
    }
    CountingIterator operator++(int)
    {
        const CountingIterator before = *this;
        ++*this;
        return before;
    }
    bool operator==(const CountingIterator& other) const { return m_position == other.m_position; }
    bool operator!=(const CountingIterator& other) const { return m_position != other.m_position; }

private:
    const char* m_position;
    const char** m_furthest;
};

} // namespace

/// Makes the values of the parser's events and looks whether a key stands twice; or makes none and finds where one
/// wanted field begins. Reads nothing beyond the limits. (The library's own way to do both looks through a whole list
/// each time an element of it ends.)
class JsonText::Builder final : public nlohmann::json_sax<json>
{
public:
    /// `wanted` may be empty: no field is looked for, values are made.
    Builder(const std::string& text, JsonLimits limits, std::string wanted)
        : m_text(text), m_limits(limits), m_furthest(text.data()), m_wanted(std::move(wanted))
    {}

    /// False for bad syntax, a number that no double can hold, or what is beyond the limits: nothing more is read then.
    bool parse()
    {
        const CountingIterator begin(m_text.data(), &m_furthest);
        const CountingIterator end(m_text.data() + m_text.size(), &m_furthest);
        return json::sax_parse(begin, end, this);
    }
    /// What was parsed.
    [[nodiscard]] json takeRoot() { return std::move(m_root); }

    bool null() override { return addValue(nullptr); }
    bool boolean(bool value) override { return addValue(value); }
    bool number_integer(number_integer_t value) override { return addValue(value); }
    bool number_unsigned(number_unsigned_t value) override { return addValue(value); }
    bool number_float(number_float_t value, const string_t& /*text*/) override { return addValue(value); }
    bool string(string_t& value) override { return take(kBytesOfText) && addValue(std::move(value)); }
    bool binary(binary_t& /*value*/) override { return false; } // not in text
    bool start_object(std::size_t /*elements*/) override { return open(json::object()); }
    bool start_array(std::size_t /*elements*/) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override
    {
        if (!take(kBytesOfMember)) {
            return false;
        }
        Frame& frame = m_frames.back();
        if (!m_wanted.empty()) {
            frame.matchedNext = matchedBy(frame, frame.matched == 0 ? name : "." + name);
            return note(frame);
        }
        const auto [at, isNew] = frame.value->get_ref<json::object_t&>().emplace(name, nullptr);
        frame.member = &at->second;
        frame.key = &at->first;
        if (!isNew && m_duplicate.empty()) {
            m_duplicate = path();
        }
        return true;
    }
    bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                     const nlohmann::detail::exception& error) override
    {
        m_isOutOfRange = dynamic_cast<const json::out_of_range*>(&error) != nullptr;
        return false;
    }

    /// Line that the parser has reached: that of the last character it took.
    [[nodiscard]] std::size_t line() const
    {
        const char* last = m_furthest == m_text.data() ? m_furthest : m_furthest - 1;
        return 1 + static_cast<std::size_t>(std::count(m_text.data(), last, '\n'));
    }
    /// True when what stopped the parser is a number that no double can hold.
    [[nodiscard]] bool isOutOfRange() const { return m_isOutOfRange; }
    /// What was beyond the limits, in words; empty when nothing was.
    [[nodiscard]] const std::string& beyond() const { return m_beyond; }
    [[nodiscard]] const std::string& duplicate() const { return m_duplicate; }
    /// Line of the wanted field; 0 when it was not there.
    [[nodiscard]] std::size_t wantedLine() const { return m_wantedLine; }

private:
    static constexpr std::size_t kNoMatch = std::string::npos;

    struct Frame
    {
        bool isList = false;
        json* value = nullptr;              // the list or object; of a search none
        std::size_t next = 0;               // position after the element of a list that began last
        const std::string* key = nullptr;   // of the member of an object that began last
        json* member = nullptr;             // its value
        std::size_t matched = kNoMatch;     // characters of the wanted field that lead to this list or object
        std::size_t matchedNext = kNoMatch; // the same for what began last in it
    };

    /// Puts a value where the parser is; where it lies then.
    json* put(json value)
    {
        if (m_frames.empty()) {
            m_root = std::move(value);
            return &m_root;
        }
        Frame& frame = m_frames.back();
        ++frame.next;
        if (!frame.isList) {
            *frame.member = std::move(value);
            return frame.member;
        }
        frame.value->push_back(std::move(value));
        return &frame.value->back();
    }

    /// Notes that an element of a list began, in a search; members of objects are noted at their key.
    bool pass()
    {
        if (m_frames.empty() || !m_frames.back().isList) {
            return true;
        }
        Frame& frame = m_frames.back();
        ++frame.next;
        if (frame.matched == kNoMatch) {
            return true;
        }
        frame.matchedNext = matchedBy(frame, fmt::format("[{}]", frame.next - 1));
        return note(frame);
    }

    bool addValue(json value)
    {
        if (!take(kBytesOfValue)) {
            return false;
        }
        if (!m_wanted.empty()) {
            return pass();
        }
        put(std::move(value));
        return true;
    }

    /// Books memory; false when that is more than the limit.
    bool take(std::size_t bytes)
    {
        m_memory += bytes;
        if (m_memory > m_limits.memory) {
            m_beyond = fmt::format("its values take more than {} MiB of memory, which is as much as is read",
                                   m_limits.memory >> 20U);
        }
        return m_beyond.empty();
    }

    bool open(json value)
    {
        if (m_frames.size() >= m_limits.depth) {
            m_beyond = fmt::format("brackets are nested deeper than {}, which is as deep as is read", m_limits.depth);
        }
        if (!m_beyond.empty() || !take(kBytesOfValue + kBytesOfList)) {
            return false;
        }
        Frame frame;
        frame.isList = value.is_array();
        if (m_wanted.empty()) {
            frame.value = put(std::move(value));
        } else if (!pass()) {
            return false;
        }
        frame.matched = m_frames.empty() ? 0 : m_frames.back().matchedNext;
        m_frames.push_back(frame);
        return true;
    }

    bool close()
    {
        m_frames.pop_back();
        return true;
    }

    /// Characters of the wanted field that lead to an element of a frame's list or object; kNoMatch when it leads
    /// elsewhere. Reads no more than the element's own part of the path.
    [[nodiscard]] std::size_t matchedBy(const Frame& frame, const std::string& part) const
    {
        const bool leadsHere = frame.matched != kNoMatch && m_wanted.compare(frame.matched, part.size(), part) == 0;
        return leadsHere ? frame.matched + part.size() : kNoMatch;
    }

    /// False, which ends the search, at the wanted field.
    bool note(const Frame& frame)
    {
        if (frame.matchedNext == m_wanted.size()) {
            m_wantedLine = line();
        }
        return m_wantedLine == 0;
    }

    /// "entries[2].rule" of what began last.
    [[nodiscard]] std::string path() const
    {
        std::string text;
        for (const Frame& frame : m_frames) {
            if (frame.isList) {
                text += fmt::format("[{}]", frame.next - 1);
            } else {
                text += (text.empty() ? "" : ".") + *frame.key;
            }
        }
        return text;
    }

    const std::string& m_text;
    JsonLimits m_limits;
    json m_root;
    const char* m_furthest;
    std::string m_wanted;
    std::size_t m_wantedLine = 0;
    std::size_t m_memory = 0;
    std::string m_beyond;
    bool m_isOutOfRange = false;
    std::string m_duplicate;
    std::vector<Frame> m_frames;
};

Result<JsonText> JsonText::parse(std::string text, const std::string& where, JsonLimits limits)
{
    if (text.size() > limits.bytes) {
        return inputError(fmt::format("the text has {} bytes; at most {} are read", text.size(), limits.bytes), where);
    }
    JsonText result;
    result.m_where = where;
    result.m_text = std::move(text);
    result.m_limits = limits;
    Builder builder(result.m_text, limits, {});
    if (!builder.parse()) {
        if (!builder.beyond().empty()) {
            return inputError(builder.beyond(), fmt::format("{}, line {}", where, builder.line()));
        }
        return inputError(builder.isOutOfRange()
                              ? "a number here is out of range: no double holds it; the largest is about 1.8e308"
                              : "this is not valid JSON; look for a missing comma, quote or bracket",
                          fmt::format("{}, line {}", where, builder.line()));
    }
    result.m_root = builder.takeRoot();
    if (!builder.duplicate().empty()) {
        return result.error(builder.duplicate(), "this field stands twice in one object; remove one");
    }
    return result;
}

Error JsonText::error(const std::string& field, std::string message) const
{
    if (field.empty()) {
        const auto begin = m_text.begin() + static_cast<std::ptrdiff_t>(m_text.find_first_not_of(" \t\r\n"));
        return inputError(std::move(message),
                          fmt::format("{}, line {}", m_where, 1 + std::count(m_text.begin(), begin, '\n')));
    }
    Builder builder(m_text, m_limits, field);
    static_cast<void>(builder.parse());
    std::string place = m_where;
    if (builder.wantedLine() > 0) {
        place += fmt::format(", line {}", builder.wantedLine());
    }
    return inputError(std::move(message), place + ", field " + shortened(field, kMostFieldText));
}

} // namespace retro::base
