// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/profile.h"
#include "core/trace/run.h"

#include "views/common/widgets/recordtable.h"

#include <memory>

namespace retro::views
{

/// What a pass spent, a row per node: seconds, operations and bytes. The order of the rows is the table's own; at first
/// the most expensive come first.
class ProfileTableModel final : public RecordTable<trace::NodeTotal>
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
    [[nodiscard]] double seconds() const { return m_seconds; }

private:
    std::shared_ptr<const trace::Run> m_run;
    double m_seconds = 0;
};

} // namespace retro::views
