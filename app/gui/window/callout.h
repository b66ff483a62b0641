// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPointer>
#include <QWidget>

#include <functional>
#include <utility>

class QLabel;
class QPushButton;

namespace retro::app
{

/// Where a call-out lies and which way its arrow points. Plain geometry, in the window's pixels.
struct CallOutPlace
{
    enum class Side { Left, Right, Above, Below, Over };
    QRect box;  ///< of the call-out with its arrow
    QPoint tip; ///< point of the arrow; unused for Over
    Side side = Side::Over;
};

/// Beside `target` on the side with enough room that is nearest to the window's middle; over its middle when no side
/// has room. `size` is that of the words without arrow, `arrow` the arrow's length. `kept` stays in sight if any side
/// has room then; it may be empty.
[[nodiscard]] CallOutPlace placeCallOut(const QRect& target, const QSize& size, const QRect& window, int arrow,
                                        const QRect& kept = {});

/// A bubble with title, words and buttons that points at a part of the window. Keeps the window usable: nothing is
/// modal. Child of the window it talks about. GUI thread.
class CallOut final : public QWidget
{
    Q_OBJECT

public:
    explicit CallOut(QWidget& window);

    void setWords(const QString& title, const QString& text, const QString& progress = {});
    /// Texts of the three buttons; an empty one is hidden.
    void setButtons(const QString& skip, const QString& back, const QString& next);
    /// What is not covered if another place has room, in the window's pixels; asked when the bubble is placed.
    void setKept(std::function<QRect()> kept) { m_kept = std::move(kept); }
    /// Puts the bubble beside this part of the window (in its pixels) and shows it.
    void pointAt(const QRect& target);
    /// Keyboard focus on the button that goes on; when the bubble goes, the keyboard goes back to where it was.
    void focusNext();
    [[nodiscard]] QString title() const;
    [[nodiscard]] QString text() const;

signals:
    void skipped();
    void backRequested();
    void nextRequested();

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void applyColors();

    QWidget& m_window;
    QWidget* m_body = nullptr;
    QLabel* m_title = nullptr;
    QLabel* m_text = nullptr;
    QLabel* m_progress = nullptr;
    QPushButton* m_skip = nullptr;
    QPushButton* m_back = nullptr;
    QPushButton* m_next = nullptr;
    CallOutPlace m_place;
    std::function<QRect()> m_kept;
    QPointer<QWidget> m_focusBefore;
};

/// The frame around what a call-out speaks of; lets every click through.
class CallOutRing final : public QWidget
{
    Q_OBJECT

public:
    explicit CallOutRing(QWidget& window);
    void surround(const QRect& target);

protected:
    void paintEvent(QPaintEvent* event) override;
};

} // namespace retro::app
