// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>

#include <vector>

namespace retro::views
{

/// A table whose columns are described once. What a description leaves open follows from it: alignment and font of
/// cells and heads, a tool tip with the whole text, and an answer for every index that is out of range. GUI thread.
class ColumnTable : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum class Cells { Words, Figures, SmallFigures };
    struct Heading
    {
        QString title;
        Cells cells = Cells::Words;
    };

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const final;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const final;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const final;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const final;

protected:
    explicit ColumnTable(std::vector<Heading> columns, QObject* parent = nullptr);

    [[nodiscard]] virtual int rows() const = 0;
    [[nodiscard]] virtual QString textOf(int row, int column) const = 0;
    /// The answer for any role but Qt::DisplayRole; invalid: as the description of the column says.
    [[nodiscard]] virtual QVariant detailOf(int row, int column, int role) const;
    /// The tool tip of a head.
    [[nodiscard]] virtual QVariant tipOfColumn(int column) const;

    [[nodiscard]] bool isFigure(int column) const { return headingOf(column).cells != Cells::Words; }
    /// Inside a reset of the model, or with as many columns as before.
    void setColumns(std::vector<Heading> columns) { m_columns = std::move(columns); }
    void setTitle(int column, const QString& title) { m_columns[static_cast<std::size_t>(column)].title = title; }
    /// The cells of these columns are others now (`last` < 0: to the end).
    void cellsChanged(int first = 0, int last = -1, const QList<int>& roles = {});

private:
    [[nodiscard]] const Heading& headingOf(int column) const { return m_columns[static_cast<std::size_t>(column)]; }

    std::vector<Heading> m_columns;
};

} // namespace retro::views
