// SPDX-License-Identifier: Apache-2.0
#include "app/common/questionoptions.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace retro::app
{

namespace
{

/// The parts of a list: CLI11 would leave empty ones out.
std::vector<std::string> partsOf(const engine::QuestionField& field, const std::vector<std::string>& texts)
{
    std::vector<std::string> parts;
    for (const std::string& text : texts) {
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find(field.separator, begin), text.size());
            parts.push_back(text.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    return parts;
}

CLI::Option* addList(CLI::App& verb, const engine::QuestionField& field, engine::Question& question)
{
    const std::string name = fmt::format("--{}", field.name);
    const CLI::callback_t take = [&field, &question, name](const CLI::results_t& texts) {
        const std::vector<std::string> parts = partsOf(field, texts);
        for (const std::string& part : parts) {
            if (const base::Result<void> good = engine::checkText(field, part); !good) {
                throw CLI::ValidationError(name, good.error().text());
            }
        }
        engine::setTexts(field, parts, question);
        return true;
    };
    return verb.add_option(name, take, std::string(field.help))
        ->type_name("TEXT")
        ->expected(CLI::detail::expected_max_vector_size);
}

CLI::Option* addOption(CLI::App& verb, const engine::QuestionField& field, engine::Question& question)
{
    const std::string name = fmt::format("--{}", field.name);
    const std::string help(field.help);
    return std::visit(
        [&](auto member) {
            if constexpr (std::is_same_v<decltype(member), bool engine::Question::*>) {
                return verb.add_flag(name, question.*member, help);
            } else {
                return verb.add_option(name, question.*member, help);
            }
        },
        field.member);
}

} // namespace

void addQuestion(CLI::App& verb, engine::Verb which, engine::Question& question)
{
    for (const engine::QuestionField& field : engine::questionFields()) {
        if ((field.verbs & which) == 0) {
            continue;
        }
        CLI::Option* option = field.separator != 0 ? addList(verb, field, question) : addOption(verb, field, question);
        if (std::holds_alternative<std::vector<std::string> engine::Question::*>(field.member)) {
            option->allow_extra_args(field.takesSeveral);
        }
        option->group(std::string(engine::sectionOf(field)));
        if (!field.output.empty()) {
            option->type_name(kOutputType);
        }
        if (field.separator != 0) {
            continue; // its parts are checked as they are read
        }
        if (!std::holds_alternative<bool engine::Question::*>(field.member)) {
            option->check([&field](const std::string& text) {
                const base::Result<void> good = engine::checkText(field, text);
                return good ? std::string() : good.error().text();
            });
        }
    }
}

} // namespace retro::app
