// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/unsavedwork.h"

#include "app/gui/shell/bookmarks.h"
#include "core/base/inputfiles.h"
#include "views/notebook/notebookmodel.h"

#include <QFileInfo>
#include <QMessageBox>
#include <QWidget>

#include <utility>

namespace retro::app
{

UnsavedWork::UnsavedWork(const Bookmarks& bookmarks, const views::NotebookModel& notebook, QWidget& window)
    : QObject(&window), m_bookmarks(bookmarks), m_notebook(notebook), m_window(window)
{}

void UnsavedWork::askInWindow()
{
    setQuestion([this](const QString& file) {
        QMessageBox box(QMessageBox::Question, tr("Bookmarks and notes"),
                        tr("The bookmarks and notes of this run are in no file yet."),
                        QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, &m_window);
        box.setObjectName(QStringLiteral("unsavedWork"));
        box.setInformativeText(file.isEmpty() ? tr("Save the run with them?")
                                              : tr("Save them into %1?").arg(QFileInfo(file).fileName()));
        box.setDefaultButton(QMessageBox::Save);
        const int answer = box.exec();
        return answer == QMessageBox::Save      ? Answer::Save
               : answer == QMessageBox::Discard ? Answer::Discard
                                                : Answer::Cancel;
    });
}

UnsavedWork::Marks UnsavedWork::now() const { return {m_bookmarks.all(), m_notebook.notes()}; }

void UnsavedWork::takeComputed()
{
    m_kept = {};
    m_file.clear();
    m_held.reset();
}

void UnsavedWork::holdFile()
{
    m_held = m_file.isEmpty() ? nullptr : std::make_shared<base::HeldFiles>();
    if (m_held) {
        m_held->add(m_file.toStdString(), "the run on screen");
    }
}

void UnsavedWork::takeFile(const QString& path)
{
    m_kept = now();
    m_file = QFileInfo(path).absoluteFilePath();
    holdFile();
}

void UnsavedWork::takeSaved(const QString& path)
{
    takeFile(path);
    if (const auto then = std::exchange(m_then, {})) {
        then();
    }
}

void UnsavedWork::takeFailure()
{
    m_then = {};
    holdFile();
}

bool UnsavedWork::hasAny() const
{
    const Marks marks = now();
    return marks != Marks() && marks != m_kept;
}

bool UnsavedWork::mayLose(std::function<void()> then)
{
    const Answer answer = m_question && hasAny() ? m_question(m_file) : Answer::Discard;
    m_then = {};
    if (answer == Answer::Save) {
        m_then = std::move(then);
        emit saveWanted();
    }
    return answer == Answer::Discard;
}

} // namespace retro::app

#include "moc_unsavedwork.cpp"
