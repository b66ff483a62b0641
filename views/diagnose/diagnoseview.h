// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/diagnose/diagnosewords.h"

#include <array>
#include <vector>

class QAction;
class QLabel;
class QScrollArea;
class QStackedWidget;
class QTableView;
class QToolButton;
class QVBoxLayout;

namespace retro::views
{

class EmptyState;
class FindingRow;
class NearestList;
class StatisticsModel;

/// What may be wrong with the explanation on screen or with its model: a finding a row, the worst first, each with the
/// number that shows it and with what can be done. It asks for the work and is told what came out. Alt+Up and Alt+Down
/// go from one to the next, Enter goes to where it is.
class DiagnoseView final : public View
{
    Q_OBJECT

public:
    DiagnoseView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Diagnose"); }
    [[nodiscard]] QString hint() const override { return tr("What may be wrong here, and the number that shows it."); }
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    /// The findings as `retrograde-diagnosis/1`, or the statistics as CSV.
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] QByteArray saveState() const override { return QByteArray::number(static_cast<int>(m_filter)); }
    void restoreState(const QByteArray& state) override;

    void setState(const DiagnosisState& state);
    [[nodiscard]] const DiagnosisState& state() const { return m_state; }
    /// Says what the window can do about a finding; before the first setState().
    void setOffers(FindingOffers offers) { m_offers = std::move(offers); }
    /// Draws what shows a finding, when its row is opened.
    void setDrawings(FindingDrawings drawings) { m_drawings = std::move(drawings); }
    /// What the change of a finding would do; taken off the row of any other one.
    void setPreview(const FindingPreview& preview);
    void setFilter(FindingFilter filter);
    [[nodiscard]] FindingFilter filter() const { return m_filter; }
    /// The table of all statistics in the place of the findings.
    void showNumbers(bool isShown);

    /// The line above the list.
    [[nodiscard]] QString summary() const;
    /// What is listed, those that are set aside last (shown when they are unfolded).
    [[nodiscard]] const std::vector<FindingRow*>& rows() const { return m_rows; }
    [[nodiscard]] FindingRow* currentRow() const { return m_current; }
    /// Makes the finding of that key (keyOf()) the current one, as far as it is listed; false when it is not.
    bool showFinding(const std::string& key);
    /// The next row, or the one before; the keyboard goes there.
    void step(int by);
    [[nodiscard]] StatisticsModel& numbers() const { return *m_numbers; }

signals:
    void checkRequested(bool isDeep);
    void compareRequested();
    /// Nothing is to be compared with any more.
    void referenceDropped();
    void folderRequested();
    void stopRequested();
    void showRequested(const retro::diagnosis::Finding& finding);
    void mendRequested(const retro::diagnosis::Finding& finding);
    /// The change is to be tried, and not taken.
    void previewRequested(const retro::diagnosis::Finding& finding);
    void setAsideRequested(const retro::diagnosis::Finding& finding, bool isSetAside);
    /// The last change is to be taken back.
    void takeBackRequested();

protected:
    void refresh(Changes changes) override;

private:
    QWidget* makeHeader();
    QWidget* makeSegments(QWidget* parent);
    QToolButton* makeCheckButton(QWidget* parent);
    QWidget* makeChange();
    QWidget* makeList();
    QWidget* makeTable();
    QWidget* makeFoot();
    void applyState();
    void clearRows();
    void fillRows();
    void addRow(const diagnosis::Finding& finding, bool isSetAside);
    void addRest(std::size_t left);
    void addFold(std::size_t number);
    void showAside(bool areShown);
    void makeCurrent(FindingRow* row);
    void bringIntoView(FindingRow* row);
    void showPage();
    void goTo(const diagnosis::Finding& finding);

    DiagnosisState m_state;
    FindingOffers m_offers;
    FindingDrawings m_drawings;
    FindingPreview m_preview;
    FindingFilter m_filter = FindingFilter::All;
    bool m_showsNumbers = false;
    bool m_showsAside = false;
    std::string m_currentKey;
    std::vector<FindingRow*> m_rows;
    FindingRow* m_current = nullptr;
    std::array<QToolButton*, 4> m_segments{};
    QToolButton* m_check = nullptr;
    QAction* m_forget = nullptr;
    QAction* m_stop = nullptr;
    QLabel* m_summary = nullptr;
    QLabel* m_headline = nullptr; ///< what holds as a whole
    QWidget* m_change = nullptr;
    QLabel* m_changeText = nullptr;
    QToolButton* m_takeBack = nullptr;
    QStackedWidget* m_stack = nullptr;
    EmptyState* m_empty = nullptr;
    QScrollArea* m_scroll = nullptr;
    QWidget* m_list = nullptr;
    QVBoxLayout* m_column = nullptr;
    QToolButton* m_fold = nullptr;
    NearestList* m_nearest = nullptr; ///< below the findings
    QTableView* m_table = nullptr;
    StatisticsModel* m_numbers = nullptr;
    QWidget* m_foot = nullptr;
    QLabel* m_quiet = nullptr;
    QToolButton* m_showNumbers = nullptr;
};

} // namespace retro::views
