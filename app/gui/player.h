// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/navigator.h"

#include <QObject>

class QTimer;

namespace retro::app
{

/// Plays the run stop by stop at a chosen speed; stops at breakpoints, at the end, and when somebody else moves.
/// GUI thread.
class Player final : public QObject
{
    Q_OBJECT

public:
    Player(const NavigatorContext& context, Navigator& navigator, QObject* parent = nullptr);

    /// Speeds that can be chosen, in stops per second, ascending.
    [[nodiscard]] static std::span<const int> speeds();
    /// Index into speeds().
    [[nodiscard]] int speed() const { return m_speed; }
    void setSpeed(int index);
    [[nodiscard]] bool isPlaying() const { return m_isPlaying; }
    void play();
    void stop();
    /// One tick of the timer: some stops on.
    void advance();

signals:
    void speedChanged();
    void playingChanged();

private:
    void setPlaying(bool isPlaying);
    void applySpeed();

    NavigatorContext m_context;
    Navigator& m_navigator;
    QTimer* m_timer = nullptr;
    int m_speed = 2;
    bool m_isPlaying = false;
};

} // namespace retro::app
