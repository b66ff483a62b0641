// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"

class QLabel;
class QToolButton;
class QTreeView;

namespace retro::views
{

class PromiseTreeModel;
class RangeChip;
class TimeRange;
class WaitChart;
struct PromiseRow;

/// Values that a rule needs and nobody saved: the promises of the run as a tree, at the cursor. Columns that have no
/// room are left out; the tool tip of a row says what they would.
class PromisesView final : public View
{
    Q_OBJECT

public:
    /// Which rows are shown; rows above a shown one always are.
    enum class Filter { All, Waiting, Fulfilled, Stuck };

    PromisesView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Promises"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override
    {
        return tr("Values that a rule needs and nobody saved. It follows the cursor.");
    }
    /// Below the tree of a run with many promises.
    [[nodiscard]] const WaitChart& waits() const { return *m_waits; }
    /// The promise whose row is marked because it changed last; invalid while one is chosen.
    [[nodiscard]] base::PromiseId followed() const { return m_followed; }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;

    [[nodiscard]] Filter filter() const { return m_filter; }
    void setFilter(Filter filter);
    /// Lists only promises that are open in that part of the run from now on; `range` must outlive the view.
    void followRange(TimeRange& range);
    [[nodiscard]] QByteArray saveState() const override { return QByteArray::number(static_cast<int>(m_filter)); }
    void restoreState(const QByteArray& state) override;

public slots:
    /// Moves the cursor to where the selected promise is raised, or fulfilled.
    void goToOpening();
    void goToFulfilment();

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void makeTree();
    void sizeColumns();
    /// Leaves out the columns that have no room, the least telling first.
    void shareRoom();
    [[nodiscard]] QString nothingText() const;
    QWidget* makeFilterRow();
    void applyFilter();
    void showWaits();
    [[nodiscard]] bool isInState(const PromiseRow& row) const;
    [[nodiscard]] bool isWanted(const PromiseRow& row) const;
    bool showRow(const PromiseRow& row, const QModelIndex& parent);
    void showSelection();
    /// With nothing chosen the tree opens and marks the promise that changed last, and keeps it in its middle.
    void followNewest();
    [[nodiscard]] base::PromiseId newestChange() const;
    void chooseRow(const QModelIndex& index);
    void showMenu(const QPoint& at);

    PromiseTreeModel* m_items = nullptr;
    Filter m_filter = Filter::All;
    TimeRange* m_range = nullptr; ///< borrowed; null = the whole run
    RangeChip* m_chip = nullptr;
    std::vector<QToolButton*> m_filterButtons; ///< by Filter
    QTreeView* m_tree = nullptr;
    base::PromiseId m_followed;
    WaitChart* m_waits = nullptr;
    QLabel* m_nothing = nullptr; ///< in place of the tree when the filter leaves nothing
};

} // namespace retro::views
