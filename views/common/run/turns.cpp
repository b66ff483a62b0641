// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/turns.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QEvent>
#include <QTimer>

#include <algorithm>
#include <utility>

namespace retro::views
{

namespace
{

constexpr std::int64_t kBudgetNanoseconds = Turns::kBudget * std::int64_t{1'000'000};

enum class Input : std::uint8_t { None, Passing, Meant };

Input inputOf(QEvent::Type type)
{
    switch (type) {
    case QEvent::MouseMove:
    case QEvent::HoverMove:
    case QEvent::HoverEnter:
    case QEvent::ToolTip:
        return Input::Passing;
    case QEvent::MouseButtonPress:
    case QEvent::MouseButtonRelease:
    case QEvent::MouseButtonDblClick:
    case QEvent::Wheel:
    case QEvent::ShortcutOverride:
    case QEvent::KeyPress:
    case QEvent::KeyRelease:
    case QEvent::InputMethod:
    case QEvent::ContextMenu:
    case QEvent::Drop:
        return Input::Meant;
    default:
        return Input::None;
    }
}

} // namespace

Turns::Turns(QObject* parent) : QObject(parent), m_next(new QTimer(this))
{
    m_next->setSingleShot(true);
    m_next->setInterval(0);
    connect(m_next, &QTimer::timeout, this, &Turns::takeTurn);
}

bool Turns::add(QWidget& widget, std::function<void()> work, Waiting waiting)
{
    drop(widget);
    if (!m_next->isActive()) {
        m_spent = 0;
        m_next->start(); // the end of this turn
    }
    m_pieces.push_back({&widget, std::move(work), waiting});
    if (m_pieces.size() > 1 || m_spent >= kBudgetNanoseconds) {
        qApp->installEventFilter(this); // again: it stays one
        return false;
    }
    doFirst();
    return true;
}

void Turns::drop(const QWidget& widget)
{
    std::erase_if(m_pieces, [&](const Piece& piece) { return piece.widget == &widget; });
}

bool Turns::waits(const QWidget& widget) const
{
    return std::any_of(m_pieces.begin(), m_pieces.end(), [&](const Piece& piece) { return piece.widget == &widget; });
}

void Turns::doFirst()
{
    QElapsedTimer timer;
    timer.start();
    const Piece piece = std::move(m_pieces.front());
    m_pieces.pop_front();
    if (piece.widget != nullptr) {
        piece.work();
    }
    m_spent += timer.nsecsElapsed();
}

void Turns::takeTurn()
{
    m_spent = 0;
    while (!m_pieces.empty() && m_spent < kBudgetNanoseconds) {
        doFirst();
    }
    if (m_pieces.empty()) {
        qApp->removeEventFilter(this);
        emit done();
    } else {
        m_next->start();
    }
}

std::deque<Turns::Piece>::iterator Turns::guardOf(QObject* watched)
{
    const auto* widget = qobject_cast<QWidget*>(watched);
    return std::find_if(m_pieces.begin(), m_pieces.end(), [widget](const Piece& piece) {
        const bool isGuarded = piece.waiting == Waiting::Guarded && piece.widget != nullptr && widget != nullptr;
        return isGuarded && (piece.widget == widget || piece.widget->isAncestorOf(widget));
    });
}

bool Turns::eventFilter(QObject* watched, QEvent* event)
{
    const Input input = m_pieces.empty() ? Input::None : inputOf(event->type());
    const auto guard = input == Input::None ? m_pieces.end() : guardOf(watched);
    if (guard == m_pieces.end()) {
        return false;
    }
    if (input == Input::Passing) {
        return true;
    }
    const Piece piece = std::move(*guard);
    m_pieces.erase(guard);
    piece.work();
    return false;
}

} // namespace retro::views

#include "moc_turns.cpp"
