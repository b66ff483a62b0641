// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/ledger/ledgerfigures.h"

class QStackedWidget;
class QToolButton;

namespace retro::views
{

class CurvePane;
class LedgerPane;
class LedgerTable;
class TimeRange;

/// Where the relevance went: what started, what each cause took, what reached the input, and what is unexplained, at
/// the cursor. With setDetailed() also over time, and as a table by node, operator or rule, the worst first; and with
/// followRange() of a part of the run alone.
class LedgerView final : public View
{
    Q_OBJECT

public:
    LedgerView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Ledger"); }
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] const LedgerBooks& books() const;
    enum class Page { Waterfall, Curve, Table };

    /// Offers curve and table beside the waterfall.
    void setDetailed(bool isDetailed);
    void showPage(Page page);
    [[nodiscard]] Page page() const { return m_page; }
    void showTable(bool isTable) { showPage(isTable ? Page::Table : Page::Waterfall); }
    /// Also of a gradient, whose nodes are all that there is to say.
    [[nodiscard]] bool isTable() const { return page() == Page::Table || isGradient(); }
    [[nodiscard]] CurvePane& curve() const { return *m_curve; }
    /// The books are those of that part of the run from now on; `range` must outlive the view.
    void followRange(TimeRange& range);
    [[nodiscard]] LedgerTable& table() const { return *m_table; }
    [[nodiscard]] QByteArray saveState() const override;
    void restoreState(const QByteArray& state) override;

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    QWidget* makeSwitch();
    void applyPage();
    [[nodiscard]] bool isGradient() const;
    void fillTable();
    void fillBooks();
    void fillCurve();
    [[nodiscard]] std::optional<VisitRange> range() const;
    [[nodiscard]] std::string curveCsv() const;
    [[nodiscard]] std::string booksCsv() const;
    [[nodiscard]] base::Result<void> exportCurve(const std::filesystem::path& path) const;
    [[nodiscard]] base::Result<void> exportWaterfall(const std::filesystem::path& path) const;

    LedgerPane* m_pane = nullptr;
    LedgerTable* m_table = nullptr;
    QWidget* m_switch = nullptr;
    CurvePane* m_curve = nullptr;
    std::vector<QToolButton*> m_buttons; ///< by Page
    TimeRange* m_range = nullptr;        ///< borrowed; null = the whole run
    QStackedWidget* m_stack = nullptr;
    Page m_page = Page::Waterfall;
    bool m_isTableStale = true;
};

} // namespace retro::views
