// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QStringList>

#include "views/palette/paletteitem.h"

namespace retro::views
{
class ActionRegistry;
}

namespace retro::app
{

/// Files that were opened last, the newest first, and their actions file.recent.1 … 9. GUI thread.
class RecentFiles final : public QObject
{
    Q_OBJECT

public:
    static constexpr int kMost = 9;

    explicit RecentFiles(views::ActionRegistry& actions, QObject* parent = nullptr);

    [[nodiscard]] const QStringList& files() const { return m_files; }
    /// All of them at once, as they were remembered.
    void setFiles(const QStringList& files);
    /// A file was opened: it comes first. A built-in sample is not kept.
    void add(const QString& path);
    /// It cannot be opened any more.
    void remove(const QString& path);
    /// Folder of a file for people: "~/models", shortened in the middle.
    [[nodiscard]] static QString folderText(const QString& path);

signals:
    void changed();
    void openRequested(const QString& path);

private:
    void nameActions();

    views::ActionRegistry& m_actions;
    QStringList m_files;
};

/// The same for the palette: ~ and a name.
class RecentSource final : public views::PaletteSource
{
public:
    explicit RecentSource(RecentFiles& files) : m_files(files) {}
    [[nodiscard]] QChar sign() const override { return u'~'; }
    [[nodiscard]] QString name() const override { return RecentFiles::tr("recent file"); }
    [[nodiscard]] std::vector<views::PaletteItem> find(const QString& pattern, std::size_t limit) override;

private:
    RecentFiles& m_files;
};

} // namespace retro::app
