// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QPointer>
#include <QWidget>

#include <cstdint>
#include <deque>
#include <functional>

class QTimer;

namespace retro::views
{

/// Spreads work over turns of the event loop, so that none takes long: what is asked for is done at once until the
/// budget of the turn is spent, the rest in the turns that follow, in order. Each piece of work brings a widget up to
/// date. GUI thread.
class Turns final : public QObject
{
    Q_OBJECT

public:
    /// Milliseconds of work in one turn, as far as the pieces allow.
    static constexpr int kBudget = 8;

    /// What becomes of input to a widget that waits: it gets it, or the widget is brought up to date first and the
    /// pointer passing over it does nothing.
    enum class Waiting : std::uint8_t { Usable, Guarded };

    explicit Turns(QObject* parent = nullptr);

    /// Does `work` now (then true) or in a later turn, unless the widget is gone by then. A widget waits once at most.
    bool add(QWidget& widget, std::function<void()> work, Waiting waiting = Waiting::Guarded);
    /// The widget needs nothing any more.
    void drop(const QWidget& widget);
    [[nodiscard]] bool waits(const QWidget& widget) const;
    /// Some widget waits.
    [[nodiscard]] bool isWaiting() const { return !m_pieces.empty(); }

signals:
    /// Nothing waits any more.
    void done();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Piece
    {
        QPointer<QWidget> widget;
        std::function<void()> work;
        Waiting waiting = Waiting::Guarded;
    };

    void takeTurn();
    void doFirst();
    /// The piece whose guarded widget is, or is around, `watched`; the end when there is none.
    [[nodiscard]] std::deque<Piece>::iterator guardOf(QObject* watched);

    std::deque<Piece> m_pieces;
    QTimer* m_next = nullptr;
    std::int64_t m_spent = 0; ///< nanoseconds in this turn
};

} // namespace retro::views
