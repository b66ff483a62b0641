// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>

namespace retro::views
{

/// A text of the ledger in the user's language, for functions outside its class.
[[nodiscard]] inline QString ledgerText(const char* text)
{
    return QCoreApplication::translate("retro::views::LedgerView", text);
}

} // namespace retro::views
