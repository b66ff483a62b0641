// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "views/common/csv.h"
#include "views/common/paint/picture.h"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::views
{

enum class TableFormat { Csv, Json };

/// The format that the ending of a path asks for. Errors: Usage (neither .csv nor .json).
[[nodiscard]] base::Result<TableFormat> tableFormatOf(const std::filesystem::path& path);

/// Rows of facts, written as CSV or as JSON under the same names with the same values; cells in the order of the
/// columns. A cell without a value is empty in CSV and null in JSON. JSON (docs/cli.md) is an object: `format`
/// ("retrograde-NAME/1"), `run` (where the facts come from) and the rows under NAME, one line each.
class TableText
{
public:
    TableText(TableFormat format, std::string name, const PictureTexts& run, std::vector<const char*> columns);

    /// Cells of a row: texts, numbers and optionals of them.
    template <class... Cells>
    TableText& cells(const Cells&... cells)
    {
        (addCell(*this, cells), ...);
        return *this;
    }
    /// A whole row of them.
    template <class... Cells>
    void row(const Cells&... of)
    {
        cells(of...);
        endRow();
    }
    TableText& add(const QString& text);
    TableText& add(double number);
    TableText& add(std::int64_t number);
    TableText& addNothing();
    /// Blanks between the numbers in CSV.
    TableText& addList(std::span<const std::uint32_t> numbers);
    /// More about the row, beside its columns; left out in CSV. `json` is a JSON value.
    TableText& addDetail(const char* name, const std::string& json);
    void endRow();
    [[nodiscard]] std::string take();

private:
    /// Writes the name of the next column.
    void beginCell() { writeKey(m_columns.at(m_column++)); }
    void writeKey(const char* name);

    std::optional<CsvText> m_csv; ///< none: JSON
    std::vector<const char*> m_columns;
    std::string m_json;
    std::size_t m_column = 0;
    bool m_isRowOpen = false;
    bool m_hasRows = false;
};

} // namespace retro::views
