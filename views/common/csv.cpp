// SPDX-License-Identifier: Apache-2.0
#include "views/common/csv.h"

#include "core/base/csvfield.h"

#include <array>
#include <charconv>

namespace retro::views
{

CsvText::CsvText(std::span<const char* const> columns)
{
    for (const char* column : columns) {
        add(QString::fromUtf8(column));
    }
    endRow();
}

void CsvText::separate()
{
    if (!m_isRowEmpty) {
        m_text += ',';
    }
    m_isRowEmpty = false;
}

CsvText& CsvText::add(const QString& text)
{
    separate();
    m_text += base::csvField(text.toStdString());
    return *this;
}

CsvText& CsvText::add(double number)
{
    separate();
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    m_text.append(digits.data(), end);
    return *this;
}

CsvText& CsvText::add(std::int64_t number)
{
    separate();
    m_text += std::to_string(number);
    return *this;
}

void CsvText::endRow()
{
    m_text += '\n';
    m_isRowEmpty = true;
}

} // namespace retro::views
