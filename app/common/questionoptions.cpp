// SPDX-License-Identifier: Apache-2.0
#include "app/common/questionoptions.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace retro::app
{

namespace
{

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
        CLI::Option* option = addOption(verb, field, question);
        if (std::holds_alternative<std::vector<std::string> engine::Question::*>(field.member)) {
            option->allow_extra_args(field.takesSeveral);
        }
        if (field.separator != 0) {
            option->delimiter(field.separator);
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
