// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/profile.h"
#include "core/trace/run.h"

#include "views/common/widgets/columntable.h"

#include <memory>
#include <vector>

namespace retro::views
{

/// What a pass spent, a row per node: seconds, operations and bytes. The order of the rows is the table's own; at first
/// the most expensive come first.
class ProfileTableModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column {
        NodeColumn,
        OperatorColumn,
        ForwardColumn,
        ReverseColumn,
        AgainColumn,
        ShareColumn,
        OperationsColumn,
        BytesColumn,
        ColumnCount
    };

    explicit ProfileTableModel(QObject* parent = nullptr);

    /// Null, or a run without a profile: no rows.
    void setRun(std::shared_ptr<const trace::Run> run);
    [[nodiscard]] base::NodeId nodeOf(int row) const { return m_rows[static_cast<std::size_t>(row)].node; }
    /// −1 where the node has no row.
    [[nodiscard]] int rowOf(base::NodeId node) const;
    [[nodiscard]] double seconds() const { return m_seconds; }
    void sort(int column, Qt::SortOrder order) override;

private:
    [[nodiscard]] int rows() const override;
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    [[nodiscard]] QString cellOf(const trace::NodeTotal& total, int column) const;
    [[nodiscard]] static double figureOf(const trace::NodeTotal& total, int column);

    std::shared_ptr<const trace::Run> m_run;
    std::vector<trace::NodeTotal> m_rows;
    double m_seconds = 0;
};

} // namespace retro::views
