// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

#include <QStringList>

class QLineEdit;
class QMenu;
class QTableView;
class QTimer;

namespace retro::views
{

class ElidedLabel;
class JobRunner;
class LogModel;
class RangeChip;
class TimeRange;
enum class TableFormat;

/// Every event of the run as a row. The marked row is the cursor; a click selects the node, a double click or Enter
/// goes there. A line filters (LogFilter) off the GUI thread; filters can be saved by their text.
class LogView final : public View
{
    Q_OBJECT

public:
    LogView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Event log"); }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    /// Writes the rows that the filter lets through.
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] QByteArray saveState() const override;
    void restoreState(const QByteArray& state) override;

    [[nodiscard]] LogModel& items() const { return *m_items; }
    void setFilter(const QString& text);
    /// Lists only that part of the run from now on; `range` must outlive the view.
    void followRange(TimeRange& range);
    /// Filters that were saved, newest first; at most kMostSaved.
    [[nodiscard]] const QStringList& savedFilters() const { return m_saved; }
    static constexpr int kMostSaved = 20;
    /// Saves the present filter, or forgets it when it is saved. Without effect when it is empty or unclear.
    void toggleSaved();
    /// Adds a command to save the present filter, and the saved ones to choose from.
    void fillSavedMenu(QMenu& menu);
    [[nodiscard]] QString filter() const;
    /// "288 events", "12 of 288 events", or what is unclear in the filter.
    [[nodiscard]] QString message() const;
    /// A filter is being applied.
    [[nodiscard]] bool isFiltering() const;
    /// The selected rows as text, cells apart by tabs; at most kMostCopied rows.
    [[nodiscard]] QString copiedText() const;
    static constexpr int kMostCopied = 20'000;

protected:
    void refresh(Changes changes) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    QWidget* makeFilterRow();
    void makeTable();
    void applyFilter();
    void showCursorRow();
    void sizeWords();
    void sizeFigures();
    /// What happened tells most: in a narrow table promises, bytes and then the names of nodes give way to it.
    void shareRoom();
    [[nodiscard]] std::string tableText(TableFormat format) const;
    void chooseRow(const QModelIndex& index);
    void goTo(const QModelIndex& index);
    void copy();
    void showMenu(const QPoint& at);
    void showCount();
    [[nodiscard]] QWidget* makeSavedButton(QWidget* parent);

    LogModel* m_items = nullptr;
    JobRunner* m_jobs = nullptr;
    QTimer* m_pause = nullptr;
    QLineEdit* m_filter = nullptr;
    RangeChip* m_chip = nullptr;
    TimeRange* m_range = nullptr; ///< borrowed; null = the whole run
    QStringList m_saved;
    ElidedLabel* m_message = nullptr;
    QTableView* m_table = nullptr;
    int m_scrolledTo = 0; ///< where the row of the cursor was brought into sight
};

} // namespace retro::views
