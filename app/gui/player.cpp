// SPDX-License-Identifier: Apache-2.0
#include "app/gui/player.h"

#include "views/common/icons.h"

#include <QAction>
#include <QTimer>

#include <algorithm>
#include <array>

namespace retro::app
{

namespace
{

constexpr std::array kSpeeds{1, 2, 4, 8, 16, 30, 60, 250, 1000, 4000};
constexpr int kFrame = 16; // milliseconds; faster than that means several stops per tick
constexpr int kSecond = 1000;

} // namespace

Player::Player(const NavigatorContext& context, Navigator& navigator, QObject* parent)
    : QObject(parent), m_context(context), m_navigator(navigator), m_timer(new QTimer(this))
{
    connect(m_timer, &QTimer::timeout, this, &Player::advance);
    connect(&navigator, &Navigator::runTaken, this, &Player::stop);
    connect(&navigator, &Navigator::moveRequested, this, &Player::stop);
    const auto on = [this](const char* id, auto&& action) {
        connect(&m_context.actions.at(QLatin1String(id)), &QAction::triggered, this,
                std::forward<decltype(action)>(action));
    };
    on("go.play", [this] { m_isPlaying ? stop() : play(); });
    on("go.slower", [this] { setSpeed(m_speed - 1); });
    on("go.faster", [this] { setSpeed(m_speed + 1); });
    applySpeed();
}

std::span<const int> Player::speeds() { return kSpeeds; }

void Player::setSpeed(int index)
{
    m_speed = std::clamp(index, 0, static_cast<int>(kSpeeds.size()) - 1);
    applySpeed();
    emit speedChanged();
}

void Player::applySpeed()
{
    m_timer->setInterval(std::max(kFrame, kSecond / kSpeeds[static_cast<std::size_t>(m_speed)]));
}

void Player::setPlaying(bool isPlaying)
{
    if (isPlaying == m_isPlaying) {
        return;
    }
    m_isPlaying = isPlaying;
    isPlaying ? m_timer->start() : m_timer->stop();
    m_context.actions.at(QStringLiteral("go.play"))
        .setIcon(views::icons::icon(isPlaying ? QStringLiteral("pause") : QStringLiteral("play")));
    emit playingChanged();
}

void Player::play()
{
    if (m_context.cursor.end() == 0) {
        return;
    }
    if (m_context.cursor.position() == m_context.cursor.end()) {
        m_context.cursor.moveTo(0);
    }
    setPlaying(true);
}

void Player::stop() { setPlaying(false); }

void Player::advance()
{
    const int stops = std::max(1, kSpeeds[static_cast<std::size_t>(m_speed)] * m_timer->interval() / kSecond);
    const std::uint64_t from = m_context.cursor.position();
    std::uint64_t position = from;
    for (int i = 0; i < stops; ++i) {
        position = m_navigator.stepper().next(position, m_navigator.granularity());
    }
    const auto hit = trace::nextStop(m_context.model.run(), m_context.breakpoints.active(), from);
    const bool isHit = hit && *hit <= position;
    m_context.cursor.moveTo(isHit ? *hit : position);
    if (isHit || position == m_context.cursor.end()) {
        stop();
    }
}

} // namespace retro::app
