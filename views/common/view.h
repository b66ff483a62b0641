// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "views/common/viewcontext.h"

#include <QByteArray>
#include <QWidget>

#include <filesystem>
#include <functional>
#include <string>

class QPainter;
class QStackedLayout;
class QTimer;

namespace retro::views
{

class EmptyState;
class Theme;

/// What changed since a view was refreshed last.
enum class Change : std::uint8_t {
    Run = 1,       ///< another run
    State = 2,     ///< the cursor moved
    Selection = 4, ///< another thing is selected
    Theme = 8,     ///< the colours, or the size of the text
    All = 15
};
Q_DECLARE_FLAGS(Changes, Change)
Q_DECLARE_OPERATORS_FOR_FLAGS(Changes)

/// Base of every view: listens to run, cursor and selection, merges bursts of changes to one refresh per frame, does
/// nothing while hidden, shares the turns of the event loop with other views when another run comes, and shows the
/// empty, loading and error states by itself. A view gives its body with setBody() and refreshes it in refresh(); views
/// know each other only through cursor and selection. GUI thread.
class View : public QWidget
{
    Q_OBJECT

public:
    View(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    /// Name of the view: "Heatmap".
    [[nodiscard]] virtual QString title() const = 0;
    /// What it is of at present ("3 × 96 × 96"); shown beside the name.
    [[nodiscard]] virtual QString subject() const { return {}; }
    /// One sentence that says what the view shows, in the user's words.
    [[nodiscard]] virtual QString hint() const { return {}; }
    /// Can the view show this very thing? When not it shows the nearest that it can.
    [[nodiscard]] virtual bool canShow(const SelectedThing& thing) const = 0;

    /// Whether there is something to write.
    [[nodiscard]] virtual bool canBeWritten() const { return true; }
    /// Writes what the view shows; the ending says how: one of those that the table in app/common/exports.cpp has for
    /// the view. Errors: Usage (nothing to show), Output.
    [[nodiscard]] virtual base::Result<void> exportTo(const std::filesystem::path& path);

    /// Settings of the view (zoom, mode, columns) as bytes of its own; restoreState() ignores what it does not know.
    [[nodiscard]] virtual QByteArray saveState() const { return {}; }
    virtual void restoreState(const QByteArray& /*state*/) {}

    /// Applies what is pending at once; pictures of the window and tests call this.
    void flush();

signals:
    /// title(), subject() or hint() changed.
    void captionChanged();
    /// The button of the empty state was pressed.
    void openRequested();
    /// Cancel was pressed while loading.
    void cancelRequested();

protected:
    /// The widget that is shown while there is something to show; the view owns it.
    void setBody(QWidget* body);
    /// A scroll area without frame around a body that may be higher than the view.
    [[nodiscard]] QWidget* makeScroll(QWidget* body);
    /// Sentence and button of the empty state; the sentence should say how to get a run.
    void setEmptyText(const QString& sentence, const QString& button = {});
    /// Brings the body up to date. Only called with a run (but for needsRun()), while visible or on flush().
    virtual void refresh(Changes changes) = 0;
    /// False for a view that shows what is no run: it is refreshed without one, too.
    [[nodiscard]] virtual bool needsRun() const { return true; }
    /// True when there is a run but nothing of it for this view; then emptyReason() is shown in place of the body.
    [[nodiscard]] virtual QString emptyReason() const { return {}; }
    /// Writes what is shown: .csv is the table, .html a page with table and picture, any other ending the picture. It
    /// is drawn on the ground of the light colours, for a PNG at `scale` times the size. Errors: as paintToFile().
    [[nodiscard]] base::Result<void> write(const std::filesystem::path& path, const std::string& table,
                                           const QSizeF& size,
                                           const std::function<void(QPainter&, const Theme&)>& paint,
                                           double scale = 2) const;
    /// Asks for a refresh with the next frame.
    void schedule(Changes changes);

    [[nodiscard]] RunModel& model() const { return m_model; }
    [[nodiscard]] Cursor& cursor() const { return m_cursor; }
    [[nodiscard]] Selection& selection() const { return m_selection; }

    void showEvent(QShowEvent* event) override;

private:
    void takeRun();
    void catchUp();
    void apply();
    void applyLoadState();

    RunModel& m_model;
    Cursor& m_cursor;
    Selection& m_selection;
    QStackedLayout* m_stack = nullptr;
    EmptyState* m_empty = nullptr;
    QWidget* m_body = nullptr;
    QTimer* m_frame = nullptr;
    QString m_emptySentence;
    QString m_emptyButton;
    Changes m_pending = Change::All;
};

} // namespace retro::views
