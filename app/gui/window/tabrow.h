// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDockWidget>
#include <QPointer>
#include <QTabBar>
#include <QWidget>

class QDockWidget;
class QTabBar;

namespace retro::app
{

/// Ground of a row of tabs over docks, with float and close for the dock in front at its right end. Lies behind the tab
/// bar, which it keeps from reaching under the buttons. GUI thread.
class TabRow final : public QWidget
{
    Q_OBJECT

public:
    TabRow(QTabBar& tabs, QWidget* parent);

    /// The dock in front; the row is as wide as it. Null hides the row.
    void follow(QDockWidget* front);
    /// Null once the tab bar is gone.
    [[nodiscard]] QTabBar* tabs() const { return m_tabs; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QPointer<QTabBar> m_tabs;
    QPointer<QDockWidget> m_front;
    QWidget* m_buttons = nullptr;
};

} // namespace retro::app
