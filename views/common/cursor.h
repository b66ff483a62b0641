// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include <cstdint>

namespace retro::views
{

/// When: the step that everything shows, as the number of events applied (0 = before the first). GUI thread, one per
/// window. Views move it and read it; to learn that the state has followed they listen to RunModel::stateChanged().
class Cursor final : public QObject
{
    Q_OBJECT

public:
    explicit Cursor(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] std::uint64_t position() const { return m_position; }
    /// Largest position: the number of events of the run.
    [[nodiscard]] std::uint64_t end() const { return m_end; }
    /// Sets the end and moves to `position` (clamped); emits moved() even when the number is the same. RunModel calls
    /// this for a new run.
    void reset(std::uint64_t end, std::uint64_t position);

public slots:
    /// Goes to a position (clamped to the end); silent when it is there already.
    void moveTo(std::uint64_t position);

signals:
    void moved(std::uint64_t position);

private:
    std::uint64_t m_position = 0;
    std::uint64_t m_end = 0;
};

} // namespace retro::views
