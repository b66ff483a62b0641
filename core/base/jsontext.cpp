// SPDX-License-Identifier: Apache-2.0
#include "core/base/jsontext.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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

/// Makes the values of the parser's events, and follows how deep they go, whether a key stands twice, and where one
/// wanted field begins. (The library's own way to do both looks through a whole list each time an element of it ends.)
class JsonText::Builder final : public nlohmann::json_sax<json>
{
public:
    /// `wanted` may be empty: no field is looked for.
    Builder(const std::string& text, std::string wanted)
        : m_text(text), m_furthest(text.data()), m_wanted(std::move(wanted))
    {}

    /// False for bad syntax, or a number that no double can hold.
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
    bool string(string_t& value) override { return addValue(std::move(value)); }
    bool binary(binary_t& /*value*/) override { return false; } // not in text
    bool start_object(std::size_t /*elements*/) override { return open(json::object()); }
    bool start_array(std::size_t /*elements*/) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override
    {
        Frame& frame = m_frames.back();
        const auto [at, isNew] = frame.value->get_ref<json::object_t&>().emplace(name, nullptr);
        frame.member = &at->second;
        frame.key = name;
        if (!isNew && m_duplicate.empty()) {
            m_duplicate = path();
        }
        note();
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
    [[nodiscard]] std::size_t depth() const { return m_depth; }
    [[nodiscard]] const std::string& duplicate() const { return m_duplicate; }
    /// Line of the wanted field; 0 when it was not there.
    [[nodiscard]] std::size_t wantedLine() const { return m_wantedLine; }

private:
    struct Frame
    {
        json* value = nullptr;  // the list or object
        std::size_t next = 0;   // position after the element of a list that began last
        std::string key;        // of the member of an object that began last
        json* member = nullptr; // its value
    };

    /// Puts a value where the parser is; where it lies then.
    json* put(json value)
    {
        if (m_frames.empty()) {
            m_root = std::move(value);
            return &m_root;
        }
        Frame& frame = m_frames.back();
        if (!frame.value->is_array()) {
            *frame.member = std::move(value);
            return frame.member;
        }
        frame.value->push_back(std::move(value));
        ++frame.next;
        note(); // members of objects were noted at their key
        return &frame.value->back();
    }

    bool addValue(json value)
    {
        put(std::move(value));
        return true;
    }

    bool open(json value)
    {
        json* const place = put(std::move(value));
        m_frames.push_back({place, 0, {}, nullptr});
        m_depth = std::max(m_depth, m_frames.size());
        return true;
    }

    bool close()
    {
        m_frames.pop_back();
        return true;
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
            if (frame.value->is_array()) {
                text += fmt::format("[{}]", frame.next - 1);
            } else {
                text += (text.empty() ? "" : ".") + frame.key;
            }
        }
        return text;
    }

    const std::string& m_text;
    json m_root;
    const char* m_furthest;
    std::string m_wanted;
    std::size_t m_wantedLine = 0;
    std::size_t m_depth = 0;
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
    Builder builder(result.m_text, {});
    if (!builder.parse()) {
        return inputError(builder.isOutOfRange()
                              ? "a number here is out of range: no double holds it; the largest is about 1.8e308"
                              : "this is not valid JSON; look for a missing comma, quote or bracket",
                          fmt::format("{}, line {}", where, builder.line()));
    }
    result.m_root = builder.takeRoot();
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
