// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/jsontext.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace retro::lrp
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

/// Follows the parser's events and notes where each field begins.
class JsonText::Builder
{
public:
    Builder(const std::string& text, std::map<std::string, std::size_t>& lines)
        : m_text(text), m_furthest(text.data()), m_lines(lines)
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

private:
    struct Frame
    {
        std::string path;
        bool isList = false;
        std::size_t next = 0; // position of the next element of a list
        std::string key;      // of the next member of an object
    };

    void follow(json::parse_event_t event, const json& parsed)
    {
        switch (event) {
        case json::parse_event_t::object_start:
        case json::parse_event_t::array_start:
            open(event == json::parse_event_t::array_start);
            break;
        case json::parse_event_t::object_end:
        case json::parse_event_t::array_end:
            m_frames.pop_back();
            break;
        case json::parse_event_t::key:
            nameMember(parsed.get_ref<const std::string&>());
            break;
        case json::parse_event_t::value:
            static_cast<void>(takePath());
            break;
        }
    }

    void open(bool isList)
    {
        std::string path = takePath();
        if (m_frames.empty() || m_frames.back().isList) {
            note(path); // members of objects are noted at their key
        }
        m_frames.push_back({std::move(path), isList, 0, {}});
        m_depth = std::max(m_depth, m_frames.size());
    }

    void nameMember(const std::string& key)
    {
        Frame& frame = m_frames.back();
        frame.key = frame.path.empty() ? key : frame.path + "." + key;
        if (!note(frame.key) && m_duplicate.empty()) {
            m_duplicate = frame.key;
        }
    }

    // Path of the element that begins now.
    std::string takePath()
    {
        if (m_frames.empty()) {
            return {};
        }
        Frame& frame = m_frames.back();
        return frame.isList ? fmt::format("{}[{}]", frame.path, frame.next++) : frame.key;
    }

    bool note(const std::string& path)
    {
        m_line += static_cast<std::size_t>(std::count(m_counted, m_furthest, '\n'));
        m_counted = m_furthest;
        return m_lines.emplace(path, m_line).second;
    }

    const std::string& m_text;
    const char* m_furthest;
    std::map<std::string, std::size_t>& m_lines;
    const char* m_counted = m_text.data();
    std::size_t m_line = 1;
    std::size_t m_depth = 0;
    std::string m_duplicate;
    std::vector<Frame> m_frames;
};

base::Result<JsonText> JsonText::parse(const std::string& text, const std::string& where)
{
    if (text.size() > kMaxCompositeBytes) {
        return base::inputError(
            fmt::format("the text has {} bytes; at most {} are read", text.size(), kMaxCompositeBytes), where);
    }
    JsonText result;
    result.m_where = where;
    Builder builder(text, result.m_lines);
    try {
        result.m_root = builder.parse();
    } catch (const json::exception&) { // bad syntax, or a number that no double can hold
        return base::inputError("this is not valid JSON; look for a missing comma, quote or bracket",
                                fmt::format("{}, line {}", where, builder.line()));
    }
    if (builder.depth() > kMaxCompositeDepth) {
        return base::inputError(
            fmt::format("brackets are nested {} deep; at most {} are read", builder.depth(), kMaxCompositeDepth),
            where);
    }
    if (!builder.duplicate().empty()) {
        return result.error(builder.duplicate(), "this field stands twice in one object; remove one");
    }
    return result;
}

base::Error JsonText::error(const std::string& field, std::string message) const
{
    const auto line = m_lines.find(field);
    std::string place = m_where;
    if (line != m_lines.end()) {
        place += fmt::format(", line {}", line->second);
    }
    return base::inputError(std::move(message), field.empty() ? place : place + ", field " + field);
}

} // namespace retro::lrp
