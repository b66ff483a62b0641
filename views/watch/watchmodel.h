// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/watch/watchexpression.h"

#include "views/common/widgets/columntable.h"
#include <QStringList>

#include <vector>

namespace retro::views
{

/// Expressions as rows, with their numbers at the cursor and what changed since the cursor stood elsewhere. A number is
/// computed once per tensor, not once per step.
class WatchModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column { ExpressionColumn, NumberColumn, ChangeColumn, ColumnCount };
    static constexpr int kMostRows = 100;

    explicit WatchModel(const RunModel& model, QObject* parent = nullptr);

    /// Adds a row, or does nothing when it is there. Errors (Usage): an unclear expression, too many rows.
    [[nodiscard]] base::Result<void> add(const QString& text);
    void remove(int row);
    void removeAll();
    /// The expressions, as they are written.
    [[nodiscard]] QStringList texts() const;
    /// The value of the graph that a row is about; invalid when there is none of that name.
    [[nodiscard]] base::ValueId valueAt(int row) const { return m_rows[static_cast<std::size_t>(row)].value; }
    /// Number at the cursor.
    [[nodiscard]] const WatchResult& resultAt(int row) const { return m_rows[static_cast<std::size_t>(row)].now; }

    /// Another run, or another position.
    void setRun();
    void follow();
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
    /// Takes another expression; refused() says why one is unclear.
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

signals:
    void refused(const QString& why);

private:
    [[nodiscard]] int rows() const override { return static_cast<int>(m_rows.size()); }
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;

    struct Row
    {
        WatchExpression expression;
        base::ValueId value;      ///< invalid = not in this model, `now` says why
        base::HandleId relevance; ///< that `now` was computed of
        WatchResult now;
        std::optional<double> before; ///< at the last position where the number was another
    };

    void bind(Row& row) const;
    void evaluate(Row& row) const;
    [[nodiscard]] base::HandleId bufferHandle(const Row& row) const;
    [[nodiscard]] WatchResult relevanceOf(const Row& row) const;
    [[nodiscard]] QString changeText(const Row& row) const;

    const RunModel& m_model;
    std::vector<Row> m_rows;
};

} // namespace retro::views
