// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/breakpointlist.h"

#include "views/common/widgets/columntable.h"

namespace retro::views
{

/// The breakpoints as rows: condition in words (checked = on; edited as text), and how often it holds in the run.
class BreakpointModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column { ConditionColumn, HitsColumn, ColumnCount };
    enum Role { IsHereRole = Qt::UserRole /**< the cursor stands at a stop of it */ };

    explicit BreakpointModel(BreakpointList& list, QObject* parent = nullptr);

    /// The cursor moved: rows may have come to it or left it.
    void setPosition(std::uint64_t position);
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
    /// EditRole takes a condition as text and refuses an unclear one (refused() says why); CheckStateRole switches on
    /// and off.
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

signals:
    void refused(const QString& why);

private:
    [[nodiscard]] int rows() const override { return m_rows; }
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;

    void follow();
    void notifyHits();
    [[nodiscard]] bool isHere(const BreakpointEntry& entry) const;
    [[nodiscard]] QVariant conditionData(const BreakpointEntry& entry, int role) const;
    [[nodiscard]] QVariant hitsData(const BreakpointEntry& entry, int role) const;
    [[nodiscard]] QVariant colorOf(const BreakpointEntry& entry) const;
    [[nodiscard]] QString words(const BreakpointEntry& entry) const;

    BreakpointList& m_list;
    int m_rows = 0;
    std::uint64_t m_position = 0;
};

} // namespace retro::views
