// SPDX-License-Identifier: Apache-2.0
#include "core/base/jsontext.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

namespace retro::base
{

using nlohmann::json;

namespace
{

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

/// Follows the parser's events: how deep they go, whether a key stands twice, and where one wanted field begins.
class JsonText::Builder
{
public:
    /// `wanted` may be empty: no field is looked for.
    Builder(const std::string& text, std::string wanted)
        : m_text(text), m_furthest(text.data()), m_wanted(std::move(wanted))
    {}

    json parse()
    {
        const CountingIterator begin(m_text.data(), &m_furthest);
        const CountingIterator end(m_text.data() + m_text.size(), &m_furthest);
        return json::parse(begin, end, [this](int, json::parse_event_t event, json& parsed) {
            follow(event, parsed);
            return true;
        });
    }

    /// Line that the parser has reached: that of the last character it took.
    [[nodiscard]] std::size_t line() const
    {
        const char* last = m_furthest == m_text.data() ? m_furthest : m_furthest - 1;
        return 1 + static_cast<std::size_t>(std::count(m_text.data(), last, '\n'));
    }
    [[nodiscard]] std::size_t depth() const { return m_depth; }
    [[nodiscard]] const std::string& duplicate() const { return m_duplicate; }
    /// Line of the wanted field; 0 when it was not there.
    [[nodiscard]] std::size_t wantedLine() const { return m_wantedLine; }

private:
    struct Frame
    {
        bool isList = false;
        std::size_t next = 0;       // position after the element of a list that began last
        std::string key;            // of the member of an object that began last
        std::set<std::string> keys; // of an object
    };

    void follow(json::parse_event_t event, const json& parsed)
    {
        switch (event) {
        case json::parse_event_t::object_start:
        case json::parse_event_t::array_start:
            beginElement();
            m_frames.push_back({event == json::parse_event_t::array_start, 0, {}, {}});
            m_depth = std::max(m_depth, m_frames.size());
            break;
        case json::parse_event_t::object_end:
        case json::parse_event_t::array_end:
            m_frames.pop_back();
            break;
        case json::parse_event_t::key:
            beginMember(parsed.get_ref<const std::string&>());
            break;
        case json::parse_event_t::value:
            beginElement();
            break;
        }
    }

    /// Members of objects were noted at their key.
    void beginElement()
    {
        if (!m_frames.empty() && m_frames.back().isList) {
            ++m_frames.back().next;
            note();
        }
    }

    void beginMember(const std::string& key)
    {
        Frame& frame = m_frames.back();
        frame.key = key;
        if (!frame.keys.insert(key).second && m_duplicate.empty()) {
            m_duplicate = path();
        }
        note();
    }

    void note()
    {
        if (!m_wanted.empty() && m_wantedLine == 0 && path() == m_wanted) {
            m_wantedLine = line();
        }
    }

    /// "entries[2].rule" of what began last.
    [[nodiscard]] std::string path() const
    {
        std::string text;
        for (const Frame& frame : m_frames) {
            if (frame.isList) {
                text += fmt::format("[{}]", frame.next - 1);
            } else {
                text += (text.empty() ? "" : ".") + frame.key;
            }
        }
        return text;
    }

    const std::string& m_text;
    const char* m_furthest;
    std::string m_wanted;
    std::size_t m_wantedLine = 0;
    std::size_t m_depth = 0;
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
    Builder builder(result.m_text, {});
    try {
        result.m_root = builder.parse();
    } catch (const json::exception&) { // bad syntax, or a number that no double can hold
        return inputError("this is not valid JSON; look for a missing comma, quote or bracket",
                          fmt::format("{}, line {}", where, builder.line()));
    }
    if (builder.depth() > limits.depth) {
        return inputError(
            fmt::format("brackets are nested {} deep; at most {} are read", builder.depth(), limits.depth), where);
    }
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
    Builder builder(m_text, field);
    static_cast<void>(builder.parse());
    std::string place = m_where;
    if (builder.wantedLine() > 0) {
        place += fmt::format(", line {}", builder.wantedLine());
    }
    return inputError(std::move(message), place + ", field " + field);
}

} // namespace retro::base
