// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include "views/common/run/place.h"
#include "views/common/viewcontext.h"

#include <cstddef>
#include <optional>
#include <vector>

class QTimer;

namespace retro::views
{
class ActionRegistry;
}

namespace retro::app
{

using views::Place;

/// Places in the order they were visited, with a present one; as in a browser. Plain value.
class History
{
public:
    /// More places push the oldest out.
    static constexpr std::size_t kMost = 200;

    /// Goes on to a place: what lay ahead is forgotten. The present place once more changes nothing.
    void visit(const Place& place);
    [[nodiscard]] bool canGoBack() const { return m_at > 0; }
    [[nodiscard]] bool canGoForward() const { return m_at + 1 < m_places.size(); }
    /// The place before (after), which becomes the present one; nothing at the ends.
    [[nodiscard]] std::optional<Place> back() { return canGoBack() ? std::optional(m_places[--m_at]) : std::nullopt; }
    [[nodiscard]] std::optional<Place> forward();
    void clear();
    [[nodiscard]] std::size_t size() const { return m_places.size(); }

private:
    std::vector<Place> m_places;
    std::size_t m_at = 0;
};

/// Alt+Left and Alt+Right over what cursor and selection went through. A place counts once it has stood still for a
/// moment and no mouse button is down, so that scrubbing and playing leave only where they ended. GUI thread.
class HistoryController final : public QObject
{
    Q_OBJECT

public:
    HistoryController(views::ActionRegistry& actions, const views::RunModel& model, views::Cursor& cursor,
                      views::Selection& selection, QObject* parent = nullptr);

    /// The present place counts at once.
    void settle();
    [[nodiscard]] const History& history() const { return m_history; }

signals:
    /// A place counts now.
    void visited(const retro::views::Place& place);
    /// Somebody went back or forward to a place of before.
    void returned(const retro::views::Place& place);

private:
    void start();
    void goTo(const std::optional<Place>& place);
    void showActions();

    views::ActionRegistry& m_actions;
    const views::RunModel& m_model;
    views::Cursor& m_cursor;
    views::Selection& m_selection;
    History m_history;
    QTimer* m_still = nullptr;
};

} // namespace retro::app
