// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPoint>
#include <QRect>
#include <QSize>

#include <cstdint>
#include <vector>

namespace retro::views
{

/// Which pixels of a picture the user has covered, with history. Plain values.
class CoverSheet
{
public:
    /// One entry per pixel, rows from the top; not 0 = covered.
    using Pixels = std::vector<std::uint8_t>;

    /// Another picture: nothing is covered, and there is nothing to undo.
    void start(const QSize& size);

    [[nodiscard]] const QSize& size() const { return m_size; }
    [[nodiscard]] const Pixels& pixels() const { return m_pixels; }
    [[nodiscard]] bool covers(int x, int y) const;
    /// Number of covered pixels.
    [[nodiscard]] std::int64_t count() const;
    /// Share of the picture that is covered, 0…1.
    [[nodiscard]] double share() const;

    /// What follows, up to the next call, is one thing to undo.
    void beginChange();
    /// Covers a round spot (a straight line of spots) of `diameter` pixels; parts outside the picture are left out.
    void coverSpot(const QPoint& center, int diameter);
    void coverLine(const QPoint& from, const QPoint& to, int diameter);
    void coverBox(const QRect& box);
    void uncoverAll() { std::fill(m_pixels.begin(), m_pixels.end(), 0); }

    [[nodiscard]] bool canUndo() const { return !m_past.empty(); }
    [[nodiscard]] bool canRedo() const { return !m_future.empty(); }
    void undo();
    void redo();
    /// How many changes made this sheet out of an empty one: less one after undo(), one more after redo().
    [[nodiscard]] std::size_t changes() const { return m_changes; }

private:
    QSize m_size;
    Pixels m_pixels;
    std::vector<Pixels> m_past;
    std::vector<Pixels> m_future;
    std::size_t m_changes = 0;
};

} // namespace retro::views
