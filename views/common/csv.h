// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace retro::views
{

/// Rows of comma-separated values: quotes where needed, numbers with a point and as many digits as bring the same
/// number back, lines end in \n.
class CsvText
{
public:
    CsvText(std::initializer_list<const char*> columns) : CsvText(std::span(columns.begin(), columns.size())) {}
    explicit CsvText(std::span<const char* const> columns);

    CsvText& add(const QString& text);
    CsvText& add(double number);
    CsvText& add(std::int64_t number);
    void endRow();
    [[nodiscard]] std::string take() { return std::move(m_text); }

private:
    void separate();
    std::string m_text;
    bool m_isRowEmpty = true;
};

} // namespace retro::views
