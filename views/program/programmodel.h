// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/selection.h"

#include "core/program/listing.h"
#include "core/trace/run.h"
#include "views/common/widgets/columntable.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace retro::views
{

/// The compiled program of a run as rows: a heading per section, then its instructions. Takes a walk over the events:
/// made off the GUI thread.
struct ProgramRows
{
    struct Row
    {
        program::ListedInstruction step;
        bool isHeading = false; ///< of the section that step.isArgument says
        /// Position of the run after which the traversal had done the same; 0 for headings.
        std::uint64_t position = 0;
        base::PromiseId promise; ///< whose argument, or who splits; may be invalid
    };

    ProgramRows() = default;
    explicit ProgramRows(const trace::Run& run);

    std::vector<Row> rows;
    std::string fault; ///< why there is no program; empty when there is one
    base::Hash128 key;
    std::size_t arguments = 0;
    std::size_t instructions = 0;
    std::size_t buffers = 0;

    /// Row of the instruction that the traversal did last at a position; −1 before the first.
    [[nodiscard]] int lastDone(std::uint64_t position) const;
};

/// The instructions of a program as rows of a table.
class ProgramModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column {
        NumberColumn,
        MakesColumn,
        DoesColumn,
        NodeColumn,
        ReadsColumn,
        PromiseColumn,
        FreesColumn,
        ColumnCount
    };
    enum Role {
        IsHeadingRole = Qt::UserRole,
        IsLaterRole,  ///< the traversal does it after the cursor
        IsCursorRole, ///< the traversal did it last
        IsChosenRole  ///< it is about what is selected
    };

    explicit ProgramModel(QObject* parent = nullptr);

    void setProgram(std::shared_ptr<const ProgramRows> rows, std::shared_ptr<const trace::Run> run);
    void setPosition(std::uint64_t position);
    /// The node that is selected (invalid: none), or the promise.
    void setSelected(base::NodeId node, base::PromiseId promise);

    [[nodiscard]] const ProgramRows& program() const { return *m_rows; }
    [[nodiscard]] const ProgramRows::Row& at(int row) const { return m_rows->rows[static_cast<std::size_t>(row)]; }
    /// Row of the instruction that the traversal did last; −1 for none.
    [[nodiscard]] int cursorRow() const { return m_cursorRow; }
    /// First row about what is selected; −1 for none.
    [[nodiscard]] int selectedRow() const;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

private:
    [[nodiscard]] int rows() const override;
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    [[nodiscard]] QString headingOf(const ProgramRows::Row& row) const;
    [[nodiscard]] QString cellOf(const ProgramRows::Row& row, int column) const;
    [[nodiscard]] bool isChosen(const ProgramRows::Row& row) const;

    std::shared_ptr<const ProgramRows> m_rows = std::make_shared<const ProgramRows>();
    std::shared_ptr<const trace::Run> m_run;
    std::uint64_t m_position = 0;
    int m_cursorRow = -1;
    base::NodeId m_node;
    base::PromiseId m_promise;
};

} // namespace retro::views
