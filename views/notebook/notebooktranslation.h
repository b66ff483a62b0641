// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>

namespace retro::views
{

/// A text of the notebook in the user's language, for functions outside its class.
[[nodiscard]] inline QString notebookText(const char* text)
{
    return QCoreApplication::translate("retro::views::NotebookView", text);
}

} // namespace retro::views
