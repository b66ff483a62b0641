// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/choicehistory.h"

#include <QTimer>

#include <utility>

namespace retro::app
{

namespace
{
constexpr int kPauseMilliseconds = 400; ///< between two choices of one kind that are two
} // namespace

ChoiceHistory::ChoiceHistory(QObject* parent) : QObject(parent), m_pause(new QTimer(this))
{
    m_pause->setSingleShot(true);
    m_pause->setInterval(kPauseMilliseconds);
    connect(m_pause, &QTimer::timeout, this, &ChoiceHistory::take);
}

std::size_t ChoiceHistory::addKind(Kind kind)
{
    kind.now = kind.read();
    m_kinds.push_back(std::move(kind));
    return m_kinds.size() - 1;
}

bool ChoiceHistory::isPending() const
{
    return m_pending != kNone && !m_kinds[m_pending].isSame(m_kinds[m_pending].now, m_kinds[m_pending].read());
}

void ChoiceHistory::note(std::size_t kind)
{
    if (m_isMoving) {
        return;
    }
    if (m_pending != kind) {
        take();
    }
    m_pending = kind;
    m_pause->start();
    emit changed();
}

void ChoiceHistory::noteStep(std::size_t kind)
{
    if (!m_isMoving) {
        take();
        m_pending = kind;
        take();
    }
}

void ChoiceHistory::take()
{
    m_pause->stop();
    const std::size_t kind = std::exchange(m_pending, kNone);
    if (kind == kNone) {
        return;
    }
    std::any now = m_kinds[kind].read();
    if (!m_kinds[kind].isSame(m_kinds[kind].now, now)) {
        m_past.push_back({kind, std::exchange(m_kinds[kind].now, now), now});
        m_future.clear();
        if (m_past.size() > kMost) {
            m_past.erase(m_past.begin());
        }
    }
    emit changed();
}

void ChoiceHistory::refresh(std::size_t kind)
{
    if (!m_isMoving && m_pending != kind) {
        m_kinds[kind].now = m_kinds[kind].read();
    }
}

bool ChoiceHistory::differs(std::size_t kind) const
{
    return m_pending != kind && !m_kinds[kind].isSame(m_kinds[kind].now, m_kinds[kind].read());
}

void ChoiceHistory::forget(std::size_t kind)
{
    const auto isOfKind = [kind](const Change& change) { return change.kind == kind; };
    std::erase_if(m_past, isOfKind);
    std::erase_if(m_future, isOfKind);
    m_pending = m_pending == kind ? kNone : m_pending;
    m_kinds[kind].now = m_kinds[kind].read();
    emit changed();
}

void ChoiceHistory::forgetAll()
{
    m_past.clear();
    m_future.clear();
    m_pending = kNone;
    for (Kind& kind : m_kinds) {
        kind.now = kind.read();
    }
    emit changed();
}

QString ChoiceHistory::undoName() const
{
    if (isPending()) {
        return m_kinds[m_pending].name;
    }
    return m_past.empty() ? QString() : m_kinds[m_past.back().kind].name;
}

void ChoiceHistory::undo()
{
    take();
    move(m_past, m_future, true);
}

void ChoiceHistory::redo()
{
    take();
    move(m_future, m_past, false);
}

void ChoiceHistory::move(std::vector<Change>& from, std::vector<Change>& to, bool isBack)
{
    if (from.empty()) {
        return;
    }
    Change change = std::move(from.back());
    from.pop_back();
    Kind& kind = m_kinds[change.kind];
    m_isMoving = true;
    kind.write(isBack ? change.before : change.after);
    m_isMoving = false;
    kind.now = kind.read();
    to.push_back(std::move(change));
    emit changed();
}

} // namespace retro::app

#include "moc_choicehistory.cpp"
