// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/notes.h"
#include "core/trace/run.h"

#include <QObject>
#include <QString>

#include <functional>
#include <memory>
#include <vector>

class QWidget;

namespace retro::base
{
class HeldFiles;
}

namespace retro::views
{
class NotebookModel;
}

namespace retro::app
{

class Bookmarks;

/// What a person marked and wrote about the run on screen: bookmarks and pinned notes. Before something takes the run
/// away, it asks whether they are to be saved, where the file of the run has them not. GUI thread.
class UnsavedWork final : public QObject
{
    Q_OBJECT

public:
    enum class Answer { Save, Discard, Cancel };
    /// Asks a person; `file` is where the run would be saved to, empty when it has none.
    using Question = std::function<Answer(const QString& file)>;

    UnsavedWork(const Bookmarks& bookmarks, const views::NotebookModel& notebook, QWidget& window);

    /// What to ask with. Without one, nobody is asked and everything is discarded: pictures of the window, tests.
    void setQuestion(Question question) { m_question = std::move(question); }
    /// A message box on the window.
    void askInWindow();

    /// A run that was computed is on screen: no file has it.
    void takeComputed();
    /// The run of a file is on screen, with the marks that the file has. Nothing else is written over the file.
    void takeFile(const QString& path);
    /// The run on screen is about to be written, maybe into its file; answered by takeSaved() or takeFailure().
    void letFileGo() { m_held.reset(); }
    /// The run on screen was written, with what is marked now.
    void takeSaved(const QString& path);
    /// It was not written: what waited for it is not done.
    void takeFailure();
    /// Nothing is on screen.
    void clear() { takeComputed(); }

    /// The file of the run on screen, absolute; empty = none.
    [[nodiscard]] const QString& file() const { return m_file; }
    /// Something that a person marked or wrote is in no file.
    [[nodiscard]] bool hasAny() const;
    /// True when the run may go now. Else the person wants to stay, or `then` is called when the run is saved.
    [[nodiscard]] bool mayLose(std::function<void()> then);

signals:
    /// The person wants the run to be saved; answered by takeSaved() or takeFailure().
    void saveWanted();

private:
    struct Marks
    {
        std::vector<trace::Bookmark> bookmarks;
        std::vector<trace::Note> notes;
        bool operator==(const Marks&) const = default;
    };
    [[nodiscard]] Marks now() const;
    void holdFile();

    const Bookmarks& m_bookmarks;
    const views::NotebookModel& m_notebook;
    QWidget& m_window;
    Question m_question;
    Marks m_kept; ///< those that the file has
    QString m_file;
    std::shared_ptr<base::HeldFiles> m_held; ///< m_file; null while there is none, or it is written
    std::function<void()> m_then;            ///< waits for the file
};

} // namespace retro::app
