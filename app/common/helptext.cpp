// SPDX-License-Identifier: Apache-2.0
#include "app/common/helptext.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace retro::app
{

namespace
{

constexpr std::size_t kWidth = 80;
constexpr std::size_t kSentences = 26; ///< column at which they begin

/// Characters of UTF-8.
std::size_t widthOf(std::string_view text)
{
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// Words over as many lines as they take, from a column on; `used` is how far the first line is written already.
std::string wrapped(const std::string& text, std::size_t column, std::size_t used)
{
    std::string lines;
    std::size_t at = used;
    for (const std::string& word : CLI::detail::split(text, ' ')) {
        const std::size_t width = widthOf(word);
        if (word.empty()) {
            continue;
        }
        if (at > column && at + 1 + width > kWidth) {
            lines += '\n';
            at = 0;
        }
        const std::size_t space = at < column ? column - at : at > column ? 1 : 0;
        lines += std::string(space, ' ') + word;
        at += space + width;
    }
    return lines + '\n';
}

/// A name, and what it is for.
std::string row(const std::string& name, const std::string& sentence)
{
    const std::string head = "  " + name;
    const std::size_t width = widthOf(head);
    if (sentence.empty()) {
        return head + '\n';
    }
    return width + 2 <= kSentences ? head + wrapped(sentence, kSentences, width)
                                   : head + '\n' + wrapped(sentence, kSentences, 0);
}

/// Where the pages lie that sentences name as docs/…: in a wheel or an archive, a Debian package, the source. Empty:
/// nowhere.
std::string folderOfPages()
{
    namespace fs = std::filesystem;
    std::error_code none;
    const fs::path programs = fs::read_symlink("/proc/self/exe", none).parent_path();
    for (const char* place : {"../docs", "../share/doc/retrograde/docs", "../../../docs"}) {
        if (fs::exists(programs / place / "cli.md", none)) {
            return (programs / place).lexically_normal().string();
        }
    }
    return {};
}

/// The texts of "TEXT:{auto,float,double}"; none where any is taken.
std::vector<std::string> choicesOf(const std::string& type)
{
    const std::size_t from = type.find('{');
    const std::size_t until = type.rfind('}');
    return from < until && until != std::string::npos ? CLI::detail::split(type.substr(from + 1, until - from - 1), ',')
                                                      : std::vector<std::string>();
}

/// What stands behind a name: a word for the kind of what is typed there.
std::string kindOf(const std::string& type)
{
    if (const std::size_t range = type.find(" in ["); range != std::string::npos) {
        const std::vector<std::string> ends = CLI::detail::split(type.substr(range + 5), ' '); // "1 - 1024]"
        return ends.size() == 3 ? fmt::format("N ({} to {})", ends[0], ends[2].substr(0, ends[2].size() - 1)) : "N";
    }
    if (type.starts_with("UINT") || type.starts_with("INT") || type.ends_with("whole number")) {
        return "N";
    }
    if (type.starts_with("FLOAT") || type.ends_with("number") || type.ends_with("number above 0")) {
        return "NUMBER";
    }
    return choicesOf(type).empty() ? type : "WORD";
}

} // namespace

std::string HelpText::make_help(const CLI::App* verb, std::string name, CLI::AppFormatMode mode) const
{
    std::string usage = make_usage(verb, std::move(name));
    usage.erase(usage.find_last_not_of('\n') + 1);
    std::string text = wrapped(verb->get_description(), 0, 0) + '\n' + wrapped(usage, 0, 0) + make_positionals(verb);
    std::vector<std::string> groups = verb->get_groups();
    for (const char* last : {"Options", kCommonGroup}) {
        std::ranges::stable_partition(groups, [last](const std::string& group) { return group != last; });
    }
    for (const std::string& group : groups) {
        const auto options = verb->get_options([&](const CLI::Option* option) {
            return option->get_group() == group && option->nonpositional() && !group.empty();
        });
        text += options.empty() ? std::string() : make_group(group, false, options);
    }
    const std::string pages = text.find("docs/") == std::string::npos ? std::string() : folderOfPages();
    text += pages.empty() ? pages : fmt::format("\nPages named docs/… lie in\n  {}\n", pages);
    return text + make_subcommands(verb, mode) + make_footer(verb);
}

std::string HelpText::make_option(const CLI::Option* option, bool isPositional) const
{
    return row(make_option_name(option, isPositional) + make_option_opts(option), make_option_desc(option));
}

std::string HelpText::make_option_opts(const CLI::Option* option) const
{
    if (option->get_type_size() == 0) {
        return {};
    }
    const bool isList = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    return fmt::format(" {}{}{}", kindOf(option->get_type_name()), isList ? " ..." : "",
                       option->get_required() ? " (required)" : "");
}

/// With the words that may be typed, where the sentence does not name them.
std::string HelpText::make_option_desc(const CLI::Option* option) const
{
    const std::string sentence = option->get_description();
    const std::vector<std::string> choices = choicesOf(option->get_type_name());
    const bool areNamed = std::ranges::all_of(
        choices, [&](const std::string& choice) { return sentence.find(choice) != std::string::npos; });
    return areNamed ? sentence : fmt::format("{}: {}", sentence, CLI::detail::join(choices, ", "));
}

std::string HelpText::make_subcommand(const CLI::App* verb) const
{
    return row(verb->get_name(), verb->get_description());
}

} // namespace retro::app
