// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include <cstdint>

namespace retro::views
{

/// When: the step that everything shows, as the number of events applied (0 = before the first), and while something
/// plays how far the next event is. GUI thread, one per window. Views move it and read it; to learn that the state has
/// followed they listen to RunModel::stateChanged().
class Cursor final : public QObject
{
    Q_OBJECT

public:
    explicit Cursor(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] std::uint64_t position() const { return m_position; }
    /// Position and how far the next event is: a real number whose whole part is position().
    [[nodiscard]] double moment() const { return static_cast<double>(m_position) + m_fraction; }
    /// Visits per second while something plays; 0 = it rests. Tells views how much of what happens one by one to show.
    [[nodiscard]] double speed() const { return m_speed; }
    void setSpeed(double visitsPerSecond);
    /// Largest position: the number of events of the run.
    [[nodiscard]] std::uint64_t end() const { return m_end; }
    /// Sets the end and moves to `position` (clamped); emits moved() even when the number is the same. RunModel calls
    /// this for a new run.
    void reset(std::uint64_t end, std::uint64_t position);

public slots:
    /// Goes to a position (clamped to the end); silent when it is there already.
    void moveTo(std::uint64_t position);
    /// Goes to a moment between two positions (clamped).
    void glideTo(double moment);

signals:
    void moved(std::uint64_t position);
    /// The moment is another one; behind moved() when the position is another one too.
    void glided(double moment);
    void speedChanged(double visitsPerSecond);

private:
    double m_fraction = 0;
    double m_speed = 0;
    std::uint64_t m_position = 0;
    std::uint64_t m_end = 0;
};

} // namespace retro::views
