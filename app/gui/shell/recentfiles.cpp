// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/recentfiles.h"

#include "views/common/actions.h"
#include "views/palette/fuzzymatch.h"

#include <QDir>
#include <QFileInfo>

namespace retro::app
{

namespace
{

QString recentFileAction(int number) { return QStringLiteral("file.recent.%1").arg(number); }

} // namespace

RecentFiles::RecentFiles(views::ActionRegistry& actions, QObject* parent) : QObject(parent), m_actions(actions)
{
    for (int number = 1; number <= kMost; ++number) {
        connect(&actions.at(recentFileAction(number)), &QAction::triggered, this,
                [this, number] { emit openRequested(m_files.value(number - 1)); });
    }
    nameActions();
}

void RecentFiles::setFiles(const QStringList& files)
{
    m_files = files;
    m_files.removeAll(QString());
    m_files.removeDuplicates();
    m_files = m_files.mid(0, kMost);
    nameActions();
    emit changed();
}

void RecentFiles::add(const QString& path)
{
    const bool isBuiltIn = path.startsWith(QLatin1String(":/"));
    if (!path.isEmpty() && !isBuiltIn) {
        QStringList files = m_files;
        files.prepend(QFileInfo(path).absoluteFilePath());
        setFiles(files); // a second mention of the same file goes
    }
}

void RecentFiles::remove(const QString& path)
{
    QStringList files = m_files;
    if (files.removeAll(QFileInfo(path).absoluteFilePath()) > 0) {
        setFiles(files);
    }
}

QString RecentFiles::folderText(const QString& path)
{
    const QString folder = QFileInfo(path).absolutePath();
    const QString home = QDir::homePath();
    return folder == home || folder.startsWith(home + QLatin1Char('/')) ? QLatin1Char('~') + folder.mid(home.size())
                                                                        : folder;
}

void RecentFiles::nameActions()
{
    for (int number = 1; number <= kMost; ++number) {
        QAction& action = m_actions.at(recentFileAction(number));
        const QString path = m_files.value(number - 1);
        action.setVisible(!path.isEmpty());
        if (!path.isEmpty()) {
            QString name = QFileInfo(path).fileName();
            action.setText(
                QStringLiteral("&%1  %2").arg(number).arg(name.replace(QLatin1Char('&'), QStringLiteral("&&"))));
            action.setStatusTip(tr("Open %1").arg(QDir::toNativeSeparators(path)));
            action.setToolTip(action.statusTip());
        }
    }
    m_actions.at(QStringLiteral("file.openrecent")).setEnabled(!m_files.isEmpty());
}

std::vector<views::PaletteItem> RecentSource::find(const QString& pattern, std::size_t limit)
{
    std::vector<views::PaletteItem> items;
    for (const QString& path : m_files.files()) {
        views::PaletteItem item;
        item.text = QFileInfo(path).fileName();
        const auto match = views::fuzzyMatch(pattern.toStdU16String(), item.text.toStdU16String());
        if (!match) {
            continue;
        }
        item.detail = RecentFiles::folderText(path);
        item.icon = QStringLiteral("recent");
        item.score = match->score;
        item.places = match->places;
        item.run = [files = &m_files, path](bool) { emit files->openRequested(path); };
        items.push_back(std::move(item));
    }
    views::keepBest(items, limit);
    return items;
}

} // namespace retro::app

#include "moc_recentfiles.cpp"
