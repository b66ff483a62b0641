// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/history.h"

#include "views/common/actions.h"

#include <QApplication>
#include <QTimer>

namespace retro::app
{

namespace
{
constexpr int kStillMilliseconds = 400;
}

void History::visit(const Place& place)
{
    if (!m_places.empty() && m_places[m_at] == place) {
        return;
    }
    if (!m_places.empty()) {
        m_places.resize(m_at + 1);
    }
    m_places.push_back(place);
    if (m_places.size() > kMost) {
        m_places.erase(m_places.begin());
    }
    m_at = m_places.size() - 1;
}

std::optional<Place> History::forward() { return canGoForward() ? std::optional(m_places[++m_at]) : std::nullopt; }

void History::clear()
{
    m_places.clear();
    m_at = 0;
}

HistoryController::HistoryController(views::ActionRegistry& actions, const views::RunModel& model,
                                     views::Cursor& cursor, views::Selection& selection, QObject* parent)
    : QObject(parent), m_actions(actions), m_model(model), m_cursor(cursor), m_selection(selection)
{
    m_still = new QTimer(this);
    m_still->setSingleShot(true);
    m_still->setInterval(kStillMilliseconds);
    const auto moved = [this] { m_still->start(); };
    connect(&cursor, &views::Cursor::moved, this, moved);
    connect(&selection, &views::Selection::changed, this, moved);
    connect(m_still, &QTimer::timeout, this, [this] {
        if (QApplication::mouseButtons() == Qt::NoButton) {
            settle();
        } else {
            m_still->start(); // still dragging
        }
    });
    connect(&model, &views::RunModel::runChanged, this, &HistoryController::start);
    connect(&actions.at(QStringLiteral("go.historyback")), &QAction::triggered, this, [this] {
        settle();
        goTo(m_history.back());
    });
    connect(&actions.at(QStringLiteral("go.historyforward")), &QAction::triggered, this, [this] {
        settle();
        goTo(m_history.forward());
    });
    start();
}

void HistoryController::start()
{
    m_history.clear();
    m_still->start();
    showActions();
}

void HistoryController::settle()
{
    m_still->stop();
    if (m_model.hasRun()) {
        const Place place{m_cursor.position(), m_selection.thing()};
        m_history.visit(place);
        emit visited(place);
    }
    showActions();
}

void HistoryController::goTo(const std::optional<Place>& place)
{
    if (place) {
        m_selection.set(place->thing);
        m_cursor.moveTo(place->position);
        m_still->stop(); // it is the present place already
        emit returned(*place);
    }
    showActions();
}

void HistoryController::showActions()
{
    m_actions.at(QStringLiteral("go.historyback")).setEnabled(m_history.canGoBack());
    m_actions.at(QStringLiteral("go.historyforward")).setEnabled(m_history.canGoForward());
}

} // namespace retro::app

#include "moc_history.cpp"
