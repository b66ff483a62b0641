// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/bookmarks.h"

#include "views/common/actions.h"
#include "views/common/numbertext.h"

#include <algorithm>

namespace retro::app
{

namespace
{

QString bookmarkAction(int number) { return QStringLiteral("go.bookmark.%1").arg(number); }

bool isBefore(const trace::Bookmark& a, const trace::Bookmark& b) { return a.position < b.position; }

} // namespace

Bookmarks::Bookmarks(views::ActionRegistry& actions, const views::RunModel& model, views::Cursor& cursor,
                     QObject* parent)
    : QObject(parent), m_actions(actions), m_model(model), m_cursor(cursor)
{
    const auto on = [&](const QString& id, auto&& action) {
        connect(&actions.at(id), &QAction::triggered, this, std::forward<decltype(action)>(action));
    };
    on(QStringLiteral("go.mark"), [this] { toggle(); });
    on(QStringLiteral("go.marknext"),
       [this] { goTo(next(m_cursor.position()), tr("There is no bookmark after this.")); });
    on(QStringLiteral("go.markback"),
       [this] { goTo(previous(m_cursor.position()), tr("There is no bookmark before this.")); });
    for (int number = 1; number <= kNumbered; ++number) {
        on(bookmarkAction(number),
           [this, number] { m_cursor.moveTo(m_all[static_cast<std::size_t>(number - 1)].position); });
    }
    connect(&model, &views::RunModel::runChanged, this, &Bookmarks::takeRun);
    takeRun();
}

void Bookmarks::takeRun()
{
    m_all.clear();
    if (m_model.hasRun()) {
        m_all = m_model.run().bookmarks;
        std::stable_sort(m_all.begin(), m_all.end(), isBefore);
    }
    nameActions();
    emit changed();
}

QString Bookmarks::placeText() const
{
    const trace::RunState& state = m_model.state();
    return state.current.isValid()
               ? tr("%1 at %2")
                     .arg(m_model.modeWord(m_model.run().visitOf(m_model.position() - 1)), m_model.label(state.current))
               : tr("before the first visit");
}

void Bookmarks::toggle()
{
    if (!m_model.hasRun()) {
        return;
    }
    const std::uint64_t here = m_cursor.position();
    const auto at = std::find_if(m_all.begin(), m_all.end(), [here](const auto& b) { return b.position == here; });
    if (at != m_all.end()) {
        m_all.erase(at);
        emit said(tr("Bookmark removed"));
    } else {
        const trace::Bookmark made{here, placeText().toStdString()};
        m_all.insert(std::upper_bound(m_all.begin(), m_all.end(), made, isBefore), made);
        emit said(tr("Bookmark set: %1").arg(placeText()));
    }
    nameActions();
    emit changed();
}

std::optional<std::uint64_t> Bookmarks::next(std::uint64_t position) const
{
    const auto at = std::upper_bound(m_all.begin(), m_all.end(), trace::Bookmark{position, {}}, isBefore);
    return at == m_all.end() ? std::nullopt : std::optional(at->position);
}

std::optional<std::uint64_t> Bookmarks::previous(std::uint64_t position) const
{
    const auto at = std::lower_bound(m_all.begin(), m_all.end(), trace::Bookmark{position, {}}, isBefore);
    return at == m_all.begin() ? std::nullopt : std::optional(std::prev(at)->position);
}

void Bookmarks::goTo(const std::optional<std::uint64_t>& position, const QString& otherwise)
{
    if (position) {
        m_cursor.moveTo(*position);
    } else {
        emit said(otherwise);
    }
}

std::shared_ptr<const trace::Run> Bookmarks::withBookmarks(const std::shared_ptr<const trace::Run>& run) const
{
    if (run->bookmarks == m_all) {
        return run;
    }
    auto copy = std::make_shared<trace::Run>(*run); // tensors are shared
    copy->bookmarks = m_all;
    return copy;
}

void Bookmarks::nameActions()
{
    const bool canMark = m_model.hasRun() && m_model.run().eventCount() > 0;
    m_actions.at(QStringLiteral("go.mark")).setEnabled(canMark);
    m_actions.at(QStringLiteral("go.marknext")).setEnabled(!m_all.empty());
    m_actions.at(QStringLiteral("go.markback")).setEnabled(!m_all.empty());
    for (int number = 1; number <= kNumbered; ++number) {
        QAction& action = m_actions.at(bookmarkAction(number));
        const bool isThere = static_cast<std::size_t>(number) <= m_all.size();
        action.setVisible(isThere);
        if (isThere) {
            const trace::Bookmark& mark = m_all[static_cast<std::size_t>(number - 1)];
            QString text = QString::fromStdString(mark.text);
            action.setText(tr("Bookmark &%1: event %2, %3")
                               .arg(number)
                               .arg(views::countText(static_cast<std::int64_t>(mark.position)),
                                    text.replace(QLatin1Char('&'), QStringLiteral("&&"))));
        }
    }
}

} // namespace retro::app

#include "moc_bookmarks.cpp"
