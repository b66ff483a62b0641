// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <QStringList>

#include <array>

namespace retro::views
{

/// A condition that needs no name, and what it means (to be translated in the context of BreakpointsView).
struct ReadyCondition
{
    const char* condition;
    const char* words;
};
inline constexpr std::array kReadyConditions{
    ReadyCondition{"violation",
                   QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "Relevance is lost without a reason")},
    ReadyCondition{"nan", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "Relevance is not a number")},
    ReadyCondition{"promise opened", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "A promise is opened")},
    ReadyCondition{"promise fulfilled", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "A promise is fulfilled")},
    ReadyCondition{"mode search", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "A search begins")},
    ReadyCondition{"mode fulfilment", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "A fulfilment begins")},
    ReadyCondition{"mode changes", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "The mode changes")},
    ReadyCondition{"recompute", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "A plan computes a value again")},
    ReadyCondition{"drop", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "A planner drops a value")},
    ReadyCondition{"free", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "A plan frees a value")},
    ReadyCondition{"layer", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "A new layer is reached")},
    ReadyCondition{"loss 5", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "A rule loses more than 5 %")},
    ReadyCondition{"frontier 100 tensors",
                   QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "The frontier has more than 100 tensors")},
    ReadyCondition{"promise older 20",
                   QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "A promise is open for more than 20 visits")},
    ReadyCondition{"launch", QT_TRANSLATE_NOOP("retro::views::BreakpointsView", "A kernel of a LUT layer runs")},
};

/// Conditions that the line offers while somebody types: the ready ones, every operator, and every node and value of
/// graphs that are not too large. Sorted.
struct BreakpointWords
{
    explicit BreakpointWords(const trace::Run& run);
    QStringList words;
};

} // namespace retro::views
