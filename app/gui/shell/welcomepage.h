// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/shell/session.h"

#include <QAbstractButton>
#include <QWidget>

class QVBoxLayout;

namespace retro::views
{
class ActionRegistry;
}

namespace retro::app
{

class RecentFiles;

/// Something to open from the welcome page: an icon, what it is, and a line below that says more.
class WelcomeRow final : public QAbstractButton
{
    Q_OBJECT

public:
    WelcomeRow(const QString& what, const QString& more, const QString& icon, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_more;
    QString m_icon;
};

/// What the window shows while nothing is open: open a file, files opened last, the samples, and where to drop a file.
/// Its buttons are actions of the registry. GUI thread.
class WelcomePage final : public QWidget
{
    Q_OBJECT

public:
    WelcomePage(const views::ActionRegistry& actions, RecentFiles& recent, QWidget* parent = nullptr);
    /// What was open last, as the first row; one that cannot be opened any more is not offered.
    void setSession(const Session& session);

signals:
    void sessionWanted(const retro::app::Session& session);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] QWidget* makeHead(QWidget* parent);
    [[nodiscard]] QWidget* makeFiles(QWidget* parent);
    [[nodiscard]] QWidget* makeSample(QWidget* parent);
    void addMoreSamples(QVBoxLayout& column, QWidget* parent);
    void listRecent();

    const views::ActionRegistry& m_actions;
    RecentFiles& m_recent;
    QVBoxLayout* m_rows = nullptr;
    QVBoxLayout* m_last = nullptr; ///< heading and row of the last session
    QWidget* m_logo = nullptr;
    QWidget* m_drop = nullptr;
};

} // namespace retro::app
