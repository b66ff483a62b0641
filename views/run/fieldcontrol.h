// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/question/fields.h"

#include <QString>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

class QWidget;

namespace retro::views
{

/// UTF-8 text as Qt has it.
[[nodiscard]] QString text(std::string_view utf8);
/// Words of the table of a question's fields, in the language of the window.
[[nodiscard]] QString translated(std::string_view words);

/// A control for a field of a question, made from the table alone: a list of its choices, a switch, a line, or a page.
/// `changed` is called when the person changed it.
[[nodiscard]] QWidget* makeControl(const engine::QuestionField& field, QWidget& parent, std::function<void()> changed);
/// Shows what a field says; of a list of choices that has no such text, what is shown stays.
void showTexts(const std::vector<std::string>& texts, QWidget& control);
/// What a control says, as the field has it.
[[nodiscard]] std::vector<std::string> textsIn(const engine::QuestionField& field, const QWidget& control);

} // namespace retro::views
