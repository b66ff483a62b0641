// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/view.h"
#include "views/ledger/ledgerfigures.h"

class QStackedWidget;
class QToolButton;

namespace retro::views
{

class LedgerPane;
class LedgerTable;

/// Where the relevance went: what started, what each cause took, what reached the input, and what is unexplained, at
/// the cursor. With setDetailed() also as a table by node, operator or rule, the worst first.
class LedgerView final : public View
{
    Q_OBJECT

public:
    LedgerView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Ledger"); }
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] QStringList exportFormats() const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] const LedgerBooks& books() const;
    /// Offers the table beside the waterfall.
    void setDetailed(bool isDetailed);
    void showTable(bool isTable);
    [[nodiscard]] bool isTable() const;
    [[nodiscard]] LedgerTable& table() const { return *m_table; }
    [[nodiscard]] QByteArray saveState() const override { return isTable() ? "table" : "waterfall"; }
    void restoreState(const QByteArray& state) override { showTable(state == "table"); }

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    QWidget* makeSwitch();
    void fillTable();

    LedgerPane* m_pane = nullptr;
    LedgerTable* m_table = nullptr;
    QWidget* m_switch = nullptr;
    QToolButton* m_waterfallButton = nullptr;
    QToolButton* m_tableButton = nullptr;
    QStackedWidget* m_stack = nullptr;
    bool m_isTableStale = true;
};

} // namespace retro::views
