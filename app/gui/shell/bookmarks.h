// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include "views/common/viewcontext.h"

#include <memory>
#include <optional>
#include <vector>

namespace retro::views
{
class ActionRegistry;
}

namespace retro::app
{

/// Places of the run that somebody wants to find again, in order of time; saved with the run. GUI thread.
class Bookmarks final : public QObject
{
    Q_OBJECT

public:
    /// Actions go.bookmark.1 … go.bookmark.9 go to the first nine.
    static constexpr int kNumbered = 9;

    Bookmarks(views::ActionRegistry& actions, const views::RunModel& model, views::Cursor& cursor,
              QObject* parent = nullptr);

    [[nodiscard]] const std::vector<trace::Bookmark>& all() const { return m_all; }
    /// Sets one at the cursor, or takes it away.
    void toggle();
    /// The next (last) one after (before) the cursor; nothing when there is none.
    [[nodiscard]] std::optional<std::uint64_t> next(std::uint64_t position) const;
    [[nodiscard]] std::optional<std::uint64_t> previous(std::uint64_t position) const;
    /// The run with these bookmarks, for saving.
    [[nodiscard]] std::shared_ptr<const trace::Run> withBookmarks(const std::shared_ptr<const trace::Run>& run) const;

signals:
    void changed();
    /// One sentence about what happened, for the status bar.
    void said(const QString& sentence);

private:
    void takeRun();
    void nameActions();
    void goTo(const std::optional<std::uint64_t>& position, const QString& otherwise);
    [[nodiscard]] QString placeText() const;

    views::ActionRegistry& m_actions;
    const views::RunModel& m_model;
    views::Cursor& m_cursor;
    std::vector<trace::Bookmark> m_all;
};

} // namespace retro::app
