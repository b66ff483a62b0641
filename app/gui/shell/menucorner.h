// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractButton>
#include <QList>
#include <QWidget>

class QMenuBar;
class QToolButton;

namespace retro::app
{

/// Looks like a field; a click opens the command palette over it.
class CommandField final : public QAbstractButton
{
    Q_OBJECT

public:
    explicit CommandField(const QAction& action, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const QAction& m_action;
};

/// Right end of the menu bar: command field and the workspaces. The field takes the room that menus and workspaces
/// leave, and goes away where that is too little to read. GUI thread.
class MenuCorner final : public QWidget
{
    Q_OBJECT

public:
    /// Sets itself as the corner of the bar, whose menus must be there.
    MenuCorner(QMenuBar& bar, const QAction& palette, const QList<QAction*>& workspaces);

    [[nodiscard]] CommandField& field() const { return *m_field; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void fit(int barWidth);

    QMenuBar& m_bar;
    CommandField* m_field = nullptr;
    QList<QToolButton*> m_segments; ///< the workspaces
};

} // namespace retro::app
