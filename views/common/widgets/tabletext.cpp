// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/tabletext.h"

#include "core/base/jsonout.h"

#include <nlohmann/json.hpp>

namespace retro::views
{

namespace
{

/// Quoted; bytes that are no UTF-8 become U+FFFD.
std::string jsonText(const std::string& text) { return base::jsonOut(nlohmann::json(text)); }

} // namespace

base::Result<TableFormat> tableFormatOf(const std::filesystem::path& path)
{
    if (path.extension() == ".csv") {
        return TableFormat::Csv;
    }
    if (path.extension() == ".json") {
        return TableFormat::Json;
    }
    return base::usageError("this is written as .csv or .json", path.string());
}

TableText::TableText(TableFormat format, std::string name, const PictureTexts& run, std::vector<const char*> columns)
    : m_columns(std::move(columns))
{
    if (format == TableFormat::Csv) {
        m_csv.emplace(std::span<const char* const>(m_columns));
        return;
    }
    m_json = "{\n  \"format\": " + jsonText("retrograde-" + name + "/1") +
             ",\n  \"run\": " + base::jsonOut(nlohmann::json(run)) + ",\n  " + jsonText(name) + ": [";
}

void TableText::writeKey(const char* name)
{
    if (!m_isRowOpen) {
        m_json += m_hasRows ? ",\n    {" : "\n    {";
        m_isRowOpen = true;
        m_hasRows = true;
    } else {
        m_json += ", ";
    }
    m_json += jsonText(name) + ": ";
}

TableText& TableText::add(const QString& text)
{
    if (m_csv) {
        m_csv->add(text);
    } else {
        beginCell();
        m_json += jsonText(text.toStdString());
    }
    return *this;
}

TableText& TableText::add(double number)
{
    if (m_csv) {
        m_csv->add(number);
    } else {
        beginCell();
        m_json += base::jsonOut(nlohmann::json(number)); // no number and infinities are null
    }
    return *this;
}

TableText& TableText::add(std::int64_t number)
{
    if (m_csv) {
        m_csv->add(number);
    } else {
        beginCell();
        m_json += std::to_string(number);
    }
    return *this;
}

TableText& TableText::addNothing()
{
    if (m_csv) {
        m_csv->add(QString());
    } else {
        beginCell();
        m_json += "null";
    }
    return *this;
}

TableText& TableText::addList(std::span<const std::uint32_t> numbers)
{
    std::string text;
    for (const std::uint32_t number : numbers) {
        text += (text.empty() ? "" : m_csv ? " " : ", ") + std::to_string(number);
    }
    if (m_csv) {
        m_csv->add(QString::fromStdString(text));
    } else {
        beginCell();
        m_json += '[' + text + ']';
    }
    return *this;
}

TableText& TableText::addDetail(const char* name, const std::string& json)
{
    if (!m_csv) {
        writeKey(name);
        m_json += json;
    }
    return *this;
}

void TableText::endRow()
{
    if (m_csv) {
        m_csv->endRow();
    } else {
        m_json += '}';
    }
    m_column = 0;
    m_isRowOpen = false;
}

std::string TableText::take()
{
    return m_csv ? m_csv->take() : std::move(m_json) + (m_hasRows ? "\n  ]\n}\n" : "]\n}\n");
}

} // namespace retro::views
