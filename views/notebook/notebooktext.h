// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/notebook/notebookmodel.h"

#include <string>

namespace retro::views
{

/// A text inside a line or a table cell of Markdown: what would be markup is escaped, line ends become blanks.
[[nodiscard]] QString markdownText(const QString& text);

/// The notebook as Markdown (UTF-8): model, hash, rules, target and version, a table of the pinned places and one of
/// the trail, each row with step, events, mode, place, Σ R and comment. Needs a run.
[[nodiscard]] std::string notebookMarkdown(const RunModel& model, const NotebookModel& notebook);

} // namespace retro::views
