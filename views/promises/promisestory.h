// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/promises/promiseforest.h"

#include <QString>
#include <QStringList>

#include <optional>

namespace retro::views
{

/// A promise in words at the cursor: what is known, what is missing, what depends on it.
struct PromiseStory
{
    QString title; ///< "P2 · add · block1/add"
    QString badge; ///< "waits, 19 visits"
    PromiseRowState state = PromiseRowState::NotYet;
    QStringList known;   ///< what is there
    QString missing;     ///< what it waits for, in one line; empty when it waits for nothing
    QStringList details; ///< more about that, and what follows
    std::uint64_t opened = 0;
    std::optional<std::uint64_t> fulfilled; ///< position just after the event; none when it never is
};

[[nodiscard]] PromiseStory promiseStory(const RunModel& model, const PromiseForest& forest, base::PromiseId promise);

} // namespace retro::views
