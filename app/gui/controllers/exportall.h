// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <QObject>
#include <QPointer>
#include <QStringList>

#include <deque>

class QStackedWidget;

namespace retro::views
{
class ActionRegistry;
class View;
} // namespace retro::views

namespace retro::app
{

/// Writes every view that can be written into one folder, each in its best format under its own name: "graph.svg". One
/// view per turn of the event loop. GUI thread.
class ExportAll final : public QObject
{
    Q_OBJECT

public:
    /// `spaces` holds the workspaces; the dialogs open over `window`.
    ExportAll(views::ActionRegistry& actions, QStackedWidget& spaces, QWidget& window);

    /// Names of the files, those of the workspace on screen first; a view that two workspaces have is there once.
    [[nodiscard]] QStringList fileNames() const;
    /// Begins; what is going on already goes on. said() or failed() comes at the end. Files of these names are
    /// replaced.
    void start(const QString& folder);
    [[nodiscard]] bool isRunning() const { return !m_waiting.empty(); }

signals:
    /// What was written, in one sentence.
    void said(const QString& sentence);
    /// A file could not be written; no further one was tried, and those before it are whole.
    void failed(const retro::base::Error& error);

private:
    struct Item
    {
        QPointer<views::View> view;
        QString file;
    };
    [[nodiscard]] std::deque<Item> items() const;
    void ask();
    void askToReplace(const QString& folder, const QStringList& files);
    void goOn();
    /// False when writing must end here.
    bool write(const Item& item);
    void tellEnd();

    QStackedWidget& m_spaces;
    QWidget& m_window;
    QString m_folder;
    std::deque<Item> m_waiting;
    QStringList m_written;
    QStringList m_empty; ///< titles of views that had nothing to show
};

} // namespace retro::app
