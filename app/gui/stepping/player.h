// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/stepping/navigator.h"

#include <QElapsedTimer>
#include <QObject>

#include <optional>
#include <span>

class QTimer;

namespace retro::app
{

/// Plays the run at a chosen speed; stops at breakpoints, at the end, and when somebody else moves. Up to 60 stops per
/// second the cursor glides from stop to stop; faster, and with reduced motion, it goes over whole stops. GUI thread.
class Player final : public QObject
{
    Q_OBJECT

public:
    Player(const NavigatorContext& context, Navigator& navigator, QObject* parent = nullptr);

    /// Speeds that can be chosen, in stops per second, ascending.
    [[nodiscard]] static std::span<const double> speeds();
    /// Index into speeds().
    [[nodiscard]] int speed() const { return m_speed; }
    void setSpeed(int index);
    [[nodiscard]] bool isPlaying() const { return m_isPlaying; }
    void play();
    void stop() { setPlaying(false); }
    /// One tick of the timer without gliding: some stops on.
    void advance();
    /// As far on as some seconds of play are.
    void glide(double seconds);

signals:
    void speedChanged();
    void playingChanged();

private:
    void setPlaying(bool isPlaying);
    void applySpeed();
    void tick();
    void lookForStop();
    [[nodiscard]] double speedNow() const;
    /// True when it came to a breakpoint on the way to a moment, and stopped there.
    [[nodiscard]] bool stopsBefore(double moment);

    NavigatorContext m_context;
    Navigator& m_navigator;
    QTimer* m_timer = nullptr;
    int m_speed = 3;
    bool m_isPlaying = false;
    QElapsedTimer m_clock;              ///< since the last tick
    std::optional<std::uint64_t> m_hit; ///< the next breakpoint
};

} // namespace retro::app
