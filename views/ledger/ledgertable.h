// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/ledger/ledgerrows.h"

#include <QWidget>

class QComboBox;
class QTableView;

namespace retro::views
{

class ElidedLabel;
class LedgerTableModel;

/// The table of the ledger with a choice of what a row is: nodes, operators or rules. GUI thread.
class LedgerTable final : public QWidget
{
    Q_OBJECT

public:
    explicit LedgerTable(QWidget* parent = nullptr);

    /// Shows the books of a run, or of some of its visits; `part` says which, "visits 10 – 20".
    void setRun(std::shared_ptr<const trace::Run> run, const std::optional<VisitRange>& range = std::nullopt,
                const QString& part = {});
    void setBooked(std::uint64_t rows);
    /// Marks the row of a node, if it has one.
    void showNode(base::NodeId node);
    [[nodiscard]] LedgerGrouping grouping() const { return m_grouping; }
    void setGrouping(LedgerGrouping grouping);
    [[nodiscard]] LedgerTableModel& items() const { return *m_items; }
    /// The rows as they stand, all causes in columns of their own.
    [[nodiscard]] std::string csv() const;

signals:
    void nodeChosen(retro::base::NodeId node);
    void positionWanted(quint64 position);

private:
    void makeTable();
    void fill();

    std::shared_ptr<const trace::Run> m_run;
    std::optional<VisitRange> m_range;
    ElidedLabel* m_note = nullptr;
    LedgerGrouping m_grouping = LedgerGrouping::Node;
    LedgerTableModel* m_items = nullptr;
    QComboBox* m_choice = nullptr;
    QTableView* m_table = nullptr;
};

} // namespace retro::views
