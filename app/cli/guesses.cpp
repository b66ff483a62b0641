// SPDX-License-Identifier: Apache-2.0
#include "app/cli/guesses.h"

#include "core/base/editdistance.h"
#include "core/base/standardstreams.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace retro::app
{

namespace
{

bool isOption(std::string_view word) { return word.starts_with("--") && word.size() > 2; }

void sayGuess(const std::string& lacking, std::string_view word, const std::vector<std::string>& known)
{
    base::sayErrorLine(fmt::format("retrograde-cli: {} {}{}", lacking, word, base::guessText(word, known)));
}

} // namespace

void sayGuesses(const CLI::App& program, std::span<char* const> arguments)
{
    std::vector<std::string> verbs;
    for (const CLI::App* verb : program.get_subcommands(nullptr)) {
        verbs.push_back(verb->get_name());
    }
    const std::string first = arguments.size() > 1 ? arguments[1] : "";
    if (std::ranges::find(verbs, first) == verbs.end()) {
        if (!first.empty() && !first.starts_with('-')) {
            sayGuess("there is no verb", first, verbs);
        }
        return;
    }
    const CLI::App& verb = *program.get_subcommand(first);
    std::vector<std::string> options;
    for (const CLI::Option* option : verb.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            options.push_back("--" + name);
        }
    }
    for (const std::string_view word : arguments.subspan(2)) {
        const std::string name(word.substr(0, word.find('=')));
        if (isOption(name) && std::ranges::find(options, name) == options.end()) {
            sayGuess(first + " has no option", name, options);
        }
    }
}

} // namespace retro::app
