// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/closeguard.h"

#include <QTimer>
#include <QWidget>

#include <utility>

namespace retro::app
{

CloseGuard::CloseGuard(QWidget& window, std::function<bool()> isWriting)
    : QObject(&window), m_window(window), m_isWriting(std::move(isWriting))
{
    m_patience = new QTimer(this);
    m_patience->setSingleShot(true);
    m_patience->setInterval(kPatienceMilliseconds);
    connect(m_patience, &QTimer::timeout, this, &CloseGuard::giveUp);
}

void CloseGuard::giveUp()
{
    if (m_isWriting && m_isWriting()) {
        m_patience->start();
        return;
    }
    qWarning("The job did not stop within %d ms; leaving it behind.", kPatienceMilliseconds);
    finish();
    emit abandoned();
}

bool CloseGuard::mayClose(bool isBusy)
{
    if (!isBusy || m_isOver) {
        return true;
    }
    m_isClosing = true;
    m_window.hide();
    m_patience->start();
    return false;
}

void CloseGuard::jobEnded()
{
    if (m_isClosing) {
        finish();
    }
}

void CloseGuard::finish()
{
    m_patience->stop();
    m_isClosing = false;
    m_isOver = true;
    m_window.close();
}

} // namespace retro::app

#include "moc_closeguard.cpp"
