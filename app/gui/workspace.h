// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/docktitle.h"
#include "views/common/view.h"

#include <QMainWindow>

#include <map>
#include <vector>

namespace retro::app
{

/// A named arrangement of docks inside the window. Each view sits in a dock with our own title bar, which follows the
/// view's caption. GUI thread.
class Workspace : public QMainWindow
{
    Q_OBJECT

public:
    explicit Workspace(QString id, QWidget* parent = nullptr);

    [[nodiscard]] const QString& id() const { return m_id; }
    /// Puts every dock back where it was at first.
    void resetLayout();
    [[nodiscard]] const std::vector<QDockWidget*>& docks() const { return m_docks; }
    [[nodiscard]] const std::vector<views::View*>& views() const { return m_views; }
    /// Brings every view up to date at once, shown or not.
    void flush();

signals:
    void openRequested();
    void cancelRequested();

protected:
    QDockWidget* addView(views::View* view, Qt::DockWidgetArea area);
    QDockWidget* addPanel(QWidget* widget, const QString& title, const QString& hint, Qt::DockWidgetArea area);
    /// The arrangement that resetLayout() goes back to; called once all docks are in place.
    void rememberLayout();
    void showEvent(QShowEvent* event) override;
    /// Sizes of docks, in design pixels; applied when the workspace is shown first.
    virtual void applySizes() {}

private:
    QDockWidget* makeDock(QWidget* content, const QString& title, Qt::DockWidgetArea area);

    QString m_id;
    std::vector<QDockWidget*> m_docks;
    std::vector<views::View*> m_views;
    std::map<QDockWidget*, views::DockTitle*> m_titles;
    QByteArray m_initial;
    bool m_wasShown = false;
};

} // namespace retro::app
