// SPDX-License-Identifier: Apache-2.0
#include "views/common/causewords.h"

#include <QCoreApplication>

#include <array>

namespace retro::views
{

namespace
{

struct CauseWords
{
    const char* brief;
    const char* lost;
    const char* gained = lost;
};

/// By event::Cause.
constexpr std::array<CauseWords, event::kCauseCount> kCauseWords{{
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "bias"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "Absorbed by bias"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "Added by bias")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "stabiliser"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "By stabiliser"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "Added by stabiliser")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "dead units"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "At dead units")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "constants"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "To constants"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "From constants")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "duplication"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "Duplicated")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "padding"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "To padding")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "gradient rule"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "By gradient rule")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "filter"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "By filter")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "rounding"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "Rounding")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "clipped signs"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "Clipped by sign")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "masks"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "Masked out")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "saturation"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "Saturated")},
    {QT_TRANSLATE_NOOP("retro::views::LedgerView", "Taylor rest"),
     QT_TRANSLATE_NOOP("retro::views::LedgerView", "Left out of an expansion")},
}};

QString translated(const char* text) { return QCoreApplication::translate("retro::views::LedgerView", text); }

} // namespace

QString causeText(event::Cause cause, bool isGain)
{
    const CauseWords& words = kCauseWords.at(static_cast<std::size_t>(cause));
    return translated(isGain ? words.gained : words.lost);
}

QString shortCauseText(event::Cause cause) { return translated(kCauseWords.at(static_cast<std::size_t>(cause)).brief); }

} // namespace retro::views
