// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/columntable.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <numeric>
#include <utility>

namespace retro::views
{

/// What a table says of one field of a record.
template <class Record>
struct RecordField
{
    using Text = std::function<QString(const Record&)>;
    using Number = std::function<double(const Record&)>;
    RecordField(QString head, Text says, ColumnTable::Cells looks = ColumnTable::Cells::Words, Number sortsBy = nullptr,
                Text tells = nullptr)
        : title(std::move(head)), text(std::move(says)), cells(looks), number(std::move(sortsBy)), tip(std::move(tells))
    {}

    QString title;
    Text text;
    ColumnTable::Cells cells;
    Number number; ///< that rows are sorted by; none: their texts
    Text tip;      ///< none, or empty: the text
};

/// A table with a row per record. What a record has is described once, field by field: the head, what stands in a cell,
/// by what the rows are sorted and what a tool tip says all follow from that description. GUI thread.
template <class Record>
class RecordTable : public ColumnTable
{
public:
    using Field = RecordField<Record>;

    [[nodiscard]] const Record& at(int row) const { return m_records[m_order[static_cast<std::size_t>(row)]]; }
    /// As they came.
    [[nodiscard]] const std::vector<Record>& records() const { return m_records; }
    /// First row whose record has this in the member; −1 where none has.
    template <class Member, class Value>
    [[nodiscard]] int rowWith(Member member, const Value& value) const
    {
        const auto isIt = [&](std::size_t record) { return std::invoke(member, m_records[record]) == value; };
        const auto found = std::ranges::find_if(m_order, isIt);
        return found == m_order.end() ? -1 : static_cast<int>(found - m_order.begin());
    }
    /// A column below 0: in the order in which the records came.
    void sort(int column, Qt::SortOrder order) final
    {
        beginResetModel();
        m_column = column;
        m_isUp = order == Qt::AscendingOrder;
        arrange();
        endResetModel();
    }

protected:
    RecordTable(std::vector<Field> fields, QObject* parent)
        : ColumnTable(headings(fields), parent), m_fields(std::move(fields))
    {}

    /// Other records, as they come; `keepsOrder`: sorted as those before. Inside a reset of the model.
    void takeRecords(std::vector<Record> records, bool keepsOrder = false)
    {
        m_records = std::move(records);
        m_column = keepsOrder ? m_column : -1;
        arrange();
    }
    void setRecords(std::vector<Record> records)
    {
        beginResetModel();
        takeRecords(std::move(records));
        endResetModel();
    }

    [[nodiscard]] int rows() const override { return static_cast<int>(m_records.size()); }
    [[nodiscard]] QString textOf(int row, int column) const final { return fieldAt(column).text(at(row)); }
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override
    {
        const bool isTip = role == Qt::ToolTipRole && fieldAt(column).tip;
        const QString tip = isTip ? fieldAt(column).tip(at(row)) : QString();
        return tip.isEmpty() ? QVariant() : QVariant(tip);
    }

private:
    [[nodiscard]] const Field& fieldAt(int column) const { return m_fields[static_cast<std::size_t>(column)]; }
    [[nodiscard]] static std::vector<Heading> headings(const std::vector<Field>& fields)
    {
        std::vector<Heading> found;
        std::ranges::transform(fields, std::back_inserter(found), [](const Field& field) {
            return Heading{field.title, field.cells};
        });
        return found;
    }
    void arrange()
    {
        m_order.resize(m_records.size());
        std::iota(m_order.begin(), m_order.end(), std::size_t{0});
        if (m_column < 0) {
            return;
        }
        const Field& field = fieldAt(m_column);
        const auto isLess = [&](std::size_t a, std::size_t b) {
            return field.number ? std::is_lt(std::weak_order(field.number(m_records[a]), field.number(m_records[b])))
                                : field.text(m_records[a]) < field.text(m_records[b]); // NaN has its place, too
        };
        std::ranges::stable_sort(m_order,
                                 [&](std::size_t a, std::size_t b) { return m_isUp ? isLess(a, b) : isLess(b, a); });
    }

    std::vector<Field> m_fields;
    std::vector<Record> m_records;
    std::vector<std::size_t> m_order; ///< of the rows, by place among the records
    int m_column = -1;
    bool m_isUp = true;
};

} // namespace retro::views
