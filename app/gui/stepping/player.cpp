// SPDX-License-Identifier: Apache-2.0
#include "app/gui/stepping/player.h"

#include "core/trace/motion.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/motion.h"

#include <QAction>
#include <QTimer>

#include <algorithm>
#include <array>

namespace retro::app
{

namespace
{

constexpr std::array kSpeeds{0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 60.0, 250.0, 1000.0, 2000.0, 10'000.0};
constexpr double kMostGliding = 60; // stops per second
constexpr int kFrame = 16;          // milliseconds; faster than that means several stops per tick
constexpr double kSecond = 1000;
constexpr double kLongestTick = 0.25; // seconds that a tick counts at most: after a pause of the system nothing jumps

} // namespace

Player::Player(const NavigatorContext& context, Navigator& navigator, QObject* parent)
    : QObject(parent), m_context(context), m_navigator(navigator), m_timer(new QTimer(this))
{
    m_timer->setTimerType(Qt::PreciseTimer);
    connect(m_timer, &QTimer::timeout, this, &Player::tick);
    connect(&navigator, &Navigator::runTaken, this, &Player::stop);
    connect(&navigator, &Navigator::moveRequested, this, &Player::stop);
    const auto on = [this](const char* id, auto&& action) {
        connect(&m_context.actions.at(QLatin1String(id)), &QAction::triggered, this,
                std::forward<decltype(action)>(action));
    };
    on("go.play", [this] { m_isPlaying ? stop() : play(); });
    on("go.slower", [this] { setSpeed(m_speed - 1); });
    on("go.faster", [this] { setSpeed(m_speed + 1); });
    connect(&m_context.breakpoints, &views::BreakpointList::changed, this, &Player::lookForStop);
    applySpeed();
}

std::span<const double> Player::speeds() { return kSpeeds; }

double Player::speedNow() const { return kSpeeds[static_cast<std::size_t>(m_speed)]; }

void Player::setSpeed(int index)
{
    m_speed = std::clamp(index, 0, static_cast<int>(kSpeeds.size()) - 1);
    applySpeed();
    emit speedChanged();
}

void Player::applySpeed()
{
    const bool glides = speedNow() <= kMostGliding && !views::isMotionReduced();
    m_timer->setInterval(glides ? kFrame : std::max(kFrame, static_cast<int>(kSecond / speedNow())));
    if (m_isPlaying) {
        m_context.cursor.setSpeed(speedNow());
    }
}

void Player::setPlaying(bool isPlaying)
{
    if (isPlaying == m_isPlaying) {
        return;
    }
    m_isPlaying = isPlaying;
    applySpeed();
    m_clock.start();
    lookForStop();
    isPlaying ? m_timer->start() : m_timer->stop();
    m_context.cursor.setSpeed(isPlaying ? speedNow() : 0);
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

void Player::tick()
{
    const double seconds = std::min(kLongestTick, static_cast<double>(m_clock.restart()) / kSecond);
    speedNow() <= kMostGliding && !views::isMotionReduced() ? glide(seconds) : advance();
}

void Player::lookForStop()
{
    m_hit.reset();
    if (m_isPlaying && m_context.model.hasRun()) {
        m_hit = trace::nextStop(m_context.model.run(), m_context.breakpoints.active(), m_context.cursor.position());
    }
}

bool Player::stopsBefore(double moment)
{
    if (!m_hit || static_cast<double>(*m_hit) > moment) {
        return false;
    }
    const std::uint64_t hit = *m_hit; // which stopping forgets
    m_context.cursor.moveTo(hit);
    stop();
    m_navigator.reportStop(hit);
    return true;
}

void Player::glide(double seconds)
{
    if (!m_context.model.hasRun()) {
        stop();
        return;
    }
    const auto motion = m_context.model.derived<trace::Motion>();
    const Stepper& stepper = m_navigator.stepper();
    const Granularity granularity = m_navigator.granularity();
    const double start = m_context.cursor.moment();
    std::uint64_t to = stepper.next(m_context.cursor.position(), granularity);
    std::uint64_t from = stepper.previous(to, granularity);
    double share = motion->pace().share(start, from, to) + seconds * speedNow();
    while (share >= 1 && to < m_context.cursor.end()) {
        share -= 1;
        from = to;
        to = stepper.next(to, granularity);
    }
    const double moment = share >= 1 ? static_cast<double>(to) : motion->pace().between(from, to, share);
    if (stopsBefore(moment)) {
        return;
    }
    m_context.cursor.glideTo(moment);
    if (m_context.cursor.position() == m_context.cursor.end()) {
        stop();
    }
}

void Player::advance()
{
    const int stops = std::max(1, static_cast<int>(speedNow() * m_timer->interval() / kSecond));
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
    if (isHit) {
        m_navigator.reportStop(*hit);
    }
}

} // namespace retro::app

#include "moc_player.cpp"
