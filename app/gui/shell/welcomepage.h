// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// A file on the welcome page: its name, and its folder below.
class RecentRow final : public QAbstractButton
{
    Q_OBJECT

public:
    explicit RecentRow(const QString& path, QWidget* parent = nullptr);

    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_folder;
};

/// What the window shows while nothing is open: open a file, files opened last, the sample, and where to drop a file.
/// Its buttons are actions of the registry. GUI thread.
class WelcomePage final : public QWidget
{
    Q_OBJECT

public:
    WelcomePage(const views::ActionRegistry& actions, RecentFiles& recent, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] QWidget* makeHead(QWidget* parent);
    [[nodiscard]] QWidget* makeFiles(QWidget* parent);
    [[nodiscard]] QWidget* makeSample(QWidget* parent);
    void listRecent();

    const views::ActionRegistry& m_actions;
    RecentFiles& m_recent;
    QVBoxLayout* m_rows = nullptr;
    QWidget* m_logo = nullptr;
    QWidget* m_drop = nullptr;
};

} // namespace retro::app
