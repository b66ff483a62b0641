// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace retro::base
{

/// A list in JSON: what `of` says of each item.
template <class Items, class Of>
[[nodiscard]] nlohmann::ordered_json listOf(const Items& items, const Of& of)
{
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& item : items) {
        list.push_back(std::invoke(of, item));
    }
    return list;
}

/// Stands where a record has nothing to say in a field: JSON then leaves the field out.
inline const nlohmann::ordered_json kLeftOut = nlohmann::ordered_json::value_t::discarded;

/// A field by its name, and what stands in it.
struct Said
{
    std::string_view name;
    nlohmann::ordered_json value;
};

/// Adds the fields that have something to say.
void add(nlohmann::ordered_json& json, std::initializer_list<Said> fields);
/// An object of those.
[[nodiscard]] nlohmann::ordered_json objectOf(std::initializer_list<Said> fields);

/// What an optional holds, or null.
template <class T>
[[nodiscard]] nlohmann::ordered_json orNull(const std::optional<T>& value)
{
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

/// What an optional holds, a text or list that is not empty, true; kLeftOut in place of the rest.
template <class T>
[[nodiscard]] nlohmann::ordered_json ifAny(const T& value)
{
    if constexpr (std::is_same_v<T, bool>) {
        return value ? nlohmann::ordered_json(true) : kLeftOut;
    } else if constexpr (requires { value.has_value(); }) {
        return value ? nlohmann::ordered_json(*value) : kLeftOut;
    } else {
        return value.empty() ? kLeftOut : nlohmann::ordered_json(value);
    }
}

/// What stands in a field, null or kLeftOut included, as CSV has it: a number in as few digits as give it back, the
/// items of a list with blanks between.
[[nodiscard]] std::string csvText(const nlohmann::ordered_json& value);
/// The same as a cell of a table for people, in a form of fmt: "{:>13.6g}". What is no number stands as it is.
[[nodiscard]] std::string cellText(std::string_view form, const nlohmann::ordered_json& value);
/// The head of such a column: as wide as its cells, on the same side.
[[nodiscard]] std::string headText(std::string_view form, std::string_view head);

/// One field of the records of an answer, said once: JSON, CSV and the table for people follow from it.
template <class Record>
struct Field
{
    using Value = std::function<nlohmann::ordered_json(const Record&)>;
    Field(std::string_view called, Value says, std::string_view shownAs = {}, std::string_view below = {},
          Value reads = nullptr)
        : name(called), value(std::move(says)), form(shownAs), head(below), cell(std::move(reads))
    {}

    std::string_view name; ///< in JSON and CSV; empty: for people alone
    Value value;
    std::string_view form; ///< of a cell for people; empty: no column
    std::string_view head; ///< of that column
    Value cell;            ///< what people read in place of the value; may be null
};

/// What the records of an answer have, field by field.
template <class Record>
struct Fields : std::vector<Field<Record>>
{
    using std::vector<Field<Record>>::vector;
    /// An object of the fields that have something to say.
    [[nodiscard]] nlohmann::ordered_json json(const Record& record) const
    {
        nlohmann::ordered_json json;
        for (const Field<Record>& field : *this) {
            nlohmann::ordered_json value = field.name.empty() ? kLeftOut : field.value(record);
            if (!value.is_discarded()) {
                json[std::string(field.name)] = std::move(value);
            }
        }
        return json;
    }

    template <class Records>
    [[nodiscard]] nlohmann::ordered_json list(const Records& records) const
    {
        return listOf(records, [this](const Record& record) { return json(record); });
    }

    /// A line of the table for people.
    [[nodiscard]] std::string line(const Record& record) const
    {
        return joined([&](const Field<Record>& field) {
            return cellText(field.form, field.cell ? field.cell(record) : field.value(record));
        });
    }
    /// The heads of its columns.
    [[nodiscard]] std::string heads() const
    {
        return joined([](const Field<Record>& field) { return headText(field.form, field.head); });
    }

    /// With a first line of names. Each line ends with `end`.
    template <class Records>
    [[nodiscard]] std::string csv(const Records& records, std::string_view end = "\n") const
    {
        std::string text = csvLine([](const Field<Record>& field) { return std::string(field.name); }, end);
        for (const Record& record : records) {
            text += csvLine([&](const Field<Record>& field) { return csvText(field.value(record)); }, end);
        }
        return text;
    }

private:
    template <class Of>
    [[nodiscard]] std::string joined(const Of& of) const
    {
        std::string line;
        for (const Field<Record>& field : *this) {
            if (!field.form.empty()) {
                line += (line.empty() ? "" : " ") + of(field);
            }
        }
        return line;
    }
    template <class Of>
    [[nodiscard]] std::string csvLine(const Of& of, std::string_view end) const
    {
        std::string line;
        for (const Field<Record>& field : *this) {
            line += field.name.empty() ? std::string() : (line.empty() ? "" : ",") + of(field);
        }
        return line.append(end);
    }
};

} // namespace retro::base
