// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include <functional>

class QTimer;
class QWidget;

namespace retro::app
{

/// Closes a window that still has a job: it goes from the screen at once, and is closed for good when the job has
/// stopped, or when it has not within two seconds and writes no file. The window asks mayClose() in its closeEvent. GUI
/// thread.
class CloseGuard final : public QObject
{
    Q_OBJECT

public:
    static constexpr int kPatienceMilliseconds = 2000;

    /// `isWriting` tells whether a file is being written: nobody is left behind then, whatever time it takes.
    explicit CloseGuard(QWidget& window, std::function<bool()> isWriting = {});

    /// True when the window may go now; else it was hidden and closes later.
    [[nodiscard]] bool mayClose(bool isBusy);
    /// The job has ended; closes the window when that was asked for.
    void jobEnded();

signals:
    /// The job did not stop in time: an operator is still computing, and nobody waits for it.
    void abandoned();

private:
    void giveUp();
    void finish();

    QWidget& m_window;
    std::function<bool()> m_isWriting;
    QTimer* m_patience = nullptr;
    bool m_isClosing = false;
    bool m_isOver = false;
};

} // namespace retro::app
