// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/inputrows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

namespace retro::trace::file
{

namespace
{

constexpr std::array<std::string_view, 2> kKinds{"image", "array"};
constexpr std::array<std::string_view, 4> kLayouts{"NCHW", "NHWC", "NTC", "NT"};
constexpr std::array<std::string_view, 3> kChannels{"RGB", "BGR", "GRAY"};
constexpr std::array<std::string_view, 3> kPreparers{"card", "option", "default"};
constexpr std::array<std::string_view, 4> kBoxItems{"tag_x", "tag_y", "tag_width", "tag_height"};
constexpr int kMostPixels = 65'536;

bool setWord(std::string& to, const std::string& text, std::span<const std::string_view> allowed)
{
    to = text;
    return std::find(allowed.begin(), allowed.end(), text) != allowed.end();
}

bool setText(std::string& to, const std::string& text)
{
    to = text;
    return text.size() <= InputFacts::kMostBytes;
}

bool setNumber(double& to, const std::string& text)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc() && end == text.data() + text.size() && std::isfinite(to);
}

bool addNumber(std::vector<double>& to, const std::string& text)
{
    return to.size() < InputFacts::kMostChannels && setNumber(to.emplace_back(), text);
}

bool setPixels(int& to, const std::string& text)
{
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc() && end == text.data() + text.size() && to >= 0 && to <= kMostPixels;
}

struct Item
{
    std::string_view name;
    bool (*set)(InputFacts& facts, const std::string& text);
};

constexpr std::array<Item, 11> kItems{{
    {"kind", [](InputFacts& f, const std::string& text) { return setWord(f.kind, text, kKinds); }},
    {"file", [](InputFacts& f, const std::string& text) { return setText(f.file, text); }},
    {"layout", [](InputFacts& f, const std::string& text) { return setWord(f.layout, text, kLayouts); }},
    {"channels", [](InputFacts& f, const std::string& text) { return setWord(f.channels, text, kChannels); }},
    {"low", [](InputFacts& f, const std::string& text) { return setNumber(f.scale[0], text); }},
    {"high", [](InputFacts& f, const std::string& text) { return setNumber(f.scale[1], text); }},
    {"mean", [](InputFacts& f, const std::string& text) { return addNumber(f.mean, text); }},
    {"std",
     [](InputFacts& f, const std::string& text) { return addNumber(f.deviation, text) && f.deviation.back() > 0; }},
    {"prepared_by", [](InputFacts& f, const std::string& text) { return setWord(f.preparedBy, text, kPreparers); }},
    {"true_class", [](InputFacts& f, const std::string& text) { return setText(f.trueClass, text); }},
    {"word",
     [](InputFacts& f, const std::string& text) {
         return f.words.size() < InputFacts::kMostWords && setText(f.words.emplace_back(), text);
     }},
}};

void addNumbers(std::vector<InputRow>& rows, std::string_view item, const std::vector<double>& numbers)
{
    for (const double number : numbers) {
        rows.push_back({item, fmt::format("{}", number)});
    }
}

void addBox(std::vector<InputRow>& rows, const std::array<int, 4>& box)
{
    for (std::size_t i = 0; i < box.size(); ++i) {
        rows.push_back({kBoxItems[i], fmt::format("{}", box[i])});
    }
}

} // namespace

std::vector<InputRow> inputRows(const InputFacts& facts)
{
    std::vector<InputRow> rows{{"kind", facts.kind},
                               {"file", facts.file},
                               {"layout", facts.layout},
                               {"channels", facts.channels},
                               {"low", fmt::format("{}", facts.scale[0])},
                               {"high", fmt::format("{}", facts.scale[1])},
                               {"true_class", facts.trueClass}};
    addNumbers(rows, "mean", facts.mean);
    addNumbers(rows, "std", facts.deviation);
    if (!facts.preparedBy.empty()) {
        rows.push_back({"prepared_by", facts.preparedBy});
    }
    if (facts.tag) {
        addBox(rows, *facts.tag);
    }
    for (const std::string& word : facts.words) {
        rows.push_back({"word", word});
    }
    return rows;
}

bool setInputRow(InputFacts& facts, std::string_view item, const std::string& text)
{
    const auto side = std::find(kBoxItems.begin(), kBoxItems.end(), item);
    if (side != kBoxItems.end()) {
        facts.tag = facts.tag.value_or(std::array<int, 4>{});
        return setPixels((*facts.tag)[static_cast<std::size_t>(side - kBoxItems.begin())], text);
    }
    const auto found = std::find_if(kItems.begin(), kItems.end(), [&](const Item& i) { return i.name == item; });
    return found != kItems.end() && found->set(facts, text);
}

bool areReadable(const InputFacts& facts)
{
    InputFacts read;
    const std::vector<InputRow> rows = inputRows(facts);
    return std::all_of(rows.begin(), rows.end(),
                       [&](const InputRow& row) { return setInputRow(read, row.item, row.text); });
}

} // namespace retro::trace::file
