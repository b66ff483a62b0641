// SPDX-License-Identifier: Apache-2.0
#include "app/gui/controllers/exportall.h"

#include "app/common/exports.h"
#include "app/gui/window/workspace.h"
#include "views/common/actions.h"
#include "views/common/view.h"

#include <QDir>
#include <QFileDialog>
#include <QMessageBox>
#include <QStackedWidget>
#include <QTimer>

#include <algorithm>

namespace retro::app
{

namespace
{

/// "retro::views::HeatmapView" → "heatmap".
QString nameOf(const views::View& view)
{
    QString name = QString::fromLatin1(view.metaObject()->className()).section(QStringLiteral("::"), -1);
    if (name.endsWith(QLatin1String("View"))) {
        name.chop(4);
    }
    return name.toLower();
}

} // namespace

ExportAll::ExportAll(views::ActionRegistry& actions, QStackedWidget& spaces, QWidget& window)
    : QObject(&window), m_spaces(spaces), m_window(window)
{
    connect(&actions.at(QStringLiteral("export.all")), &QAction::triggered, this, &ExportAll::ask);
}

std::deque<ExportAll::Item> ExportAll::items() const
{
    std::deque<Item> all;
    const int shown = m_spaces.currentIndex();
    for (int i = 0; i < m_spaces.count(); ++i) {
        const auto* space = qobject_cast<Workspace*>(m_spaces.widget((shown + i) % m_spaces.count()));
        for (views::View* view : space == nullptr ? std::vector<views::View*>() : space->views()) {
            const Export* entry = exportOf(*view);
            if (entry == nullptr) {
                continue;
            }
            const QString file =
                nameOf(*view) + QLatin1Char('.') + QString::fromStdString(std::string(wordsOf(entry->endings).front()));
            const bool isNew =
                std::none_of(all.begin(), all.end(), [&](const Item& item) { return item.file == file; });
            if (isNew) {
                all.push_back({view, file});
            }
        }
    }
    return all;
}

QStringList ExportAll::fileNames() const
{
    QStringList names;
    for (const Item& item : items()) {
        names << item.file;
    }
    return names;
}

void ExportAll::ask()
{
    if (isRunning()) {
        return;
    }
    const QString folder = QFileDialog::getExistingDirectory(&m_window, tr("Export all: choose a folder"));
    if (folder.isEmpty()) {
        return;
    }
    QStringList there = fileNames();
    there.removeIf([&](const QString& name) { return !QFile::exists(QDir(folder).filePath(name)); });
    if (there.isEmpty()) {
        start(folder);
    } else {
        askToReplace(folder, there);
    }
}

void ExportAll::askToReplace(const QString& folder, const QStringList& files)
{
    auto* box = new QMessageBox(QMessageBox::Question, tr("Export all"),
                                tr("The folder %1 has %2 already. Replace?").arg(folder, files.join(tr(", "))),
                                QMessageBox::Yes | QMessageBox::Cancel, &m_window);
    box->setTextFormat(Qt::PlainText);
    box->setAttribute(Qt::WA_DeleteOnClose);
    connect(box, &QMessageBox::finished, this, [this, folder](int answer) {
        if (answer == QMessageBox::Yes) {
            start(folder);
        }
    });
    box->open();
}

void ExportAll::start(const QString& folder)
{
    if (isRunning()) {
        return;
    }
    m_folder = folder;
    m_written.clear();
    m_empty.clear();
    m_waiting = items();
    QTimer::singleShot(0, this, &ExportAll::goOn);
}

void ExportAll::goOn()
{
    if (m_waiting.empty()) {
        return;
    }
    const Item item = m_waiting.front();
    m_waiting.pop_front();
    if (!write(item)) {
        m_waiting.clear();
    } else if (m_waiting.empty()) {
        tellEnd();
    } else {
        QTimer::singleShot(0, this, &ExportAll::goOn);
    }
}

bool ExportAll::write(const Item& item)
{
    if (item.view == nullptr) {
        return true;
    }
    const std::string path = QDir(m_folder).filePath(item.file).toStdString();
    const Export* entry = exportOf(*item.view);
    const base::Result<void> done =
        entry != nullptr ? writePane(*entry, *item.view, path) : base::usageError("there is nothing to write", path);
    if (done) {
        m_written << item.file;
    } else if (done.error().code == base::ErrorCode::Usage) {
        m_empty << item.view->title();
    } else {
        emit failed(done.error());
        return false;
    }
    return true;
}

void ExportAll::tellEnd()
{
    if (m_written.isEmpty()) {
        emit failed(
            base::usageError("there is nothing to write; open a model and run it first", m_folder.toStdString()));
        return;
    }
    const QString count = m_written.size() == 1 ? tr("Wrote 1 file") : tr("Wrote %1 files").arg(m_written.size());
    // Not through several arg(): a folder may be called "%1".
    QString sentence = count + tr(" into ") + m_folder + QStringLiteral(": ") + m_written.join(tr(", "));
    if (!m_empty.isEmpty()) {
        sentence += tr("; nothing to write in ") + m_empty.join(tr(", "));
    }
    emit said(sentence);
}

} // namespace retro::app

#include "moc_exportall.cpp"
