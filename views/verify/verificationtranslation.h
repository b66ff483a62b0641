// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>

/// Marks a text for verificationText().
#define RETRO_VERIFICATION(text) QT_TRANSLATE_NOOP("retro::views::VerificationView", text)

namespace retro::views
{

/// A text of the verification in the user's language, for functions outside its class.
[[nodiscard]] inline QString verificationText(const char* text)
{
    return QCoreApplication::translate("retro::views::VerificationView", text);
}

} // namespace retro::views
