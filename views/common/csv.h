// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace retro::views
{

/// Adds a cell to a row of a table: a text, a number, or an optional of one.
template <class Table, class Cell>
void addCell(Table& table, const Cell& cell)
{
    if constexpr (std::is_floating_point_v<Cell>) {
        table.add(static_cast<double>(cell));
    } else if constexpr (std::is_integral_v<Cell>) {
        table.add(static_cast<std::int64_t>(cell));
    } else if constexpr (std::is_same_v<Cell, QString>) {
        table.add(cell);
    } else if constexpr (requires { cell.has_value(); }) {
        cell ? addCell(table, *cell) : static_cast<void>(table.addNothing());
    } else {
        const std::string_view text(cell);
        table.add(QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())));
    }
}

/// Rows of comma-separated values: quotes where needed, numbers with a point and as many digits as bring the same
/// number back, lines end in \n.
class CsvText
{
public:
    CsvText(std::initializer_list<const char*> columns) : CsvText(std::span(columns.begin(), columns.size())) {}
    explicit CsvText(std::span<const char* const> columns);

    /// A row of texts, numbers and optionals of them; one without a value is an empty cell.
    template <class... Cells>
    void row(const Cells&... cells)
    {
        (addCell(*this, cells), ...);
        endRow();
    }
    CsvText& add(const QString& text);
    CsvText& add(double number);
    CsvText& add(std::int64_t number);
    CsvText& addNothing() { return add(QString()); }
    void endRow();
    [[nodiscard]] std::string take() { return std::move(m_text); }

private:
    void separate();
    std::string m_text;
    bool m_isRowEmpty = true;
};

} // namespace retro::views
