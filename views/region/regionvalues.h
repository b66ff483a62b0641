// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/regionfacts.h"

#include "views/common/widgets/columntable.h"

#include <vector>

namespace retro::views
{

class RunModel;

/// What each value puts into a region, a row per value: from the score down, inputs at the end. A stroke that follows
/// another one changes texts alone, so that a pane with many values keeps up with the pointer.
class RegionValuesModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column { ValueColumn, PartColumn, OfRegionColumn, OfItselfColumn, ColumnCount };

    explicit RegionValuesModel(const RunModel& model, QObject* parent = nullptr);

    /// Null: no rows.
    void setRegion(RegionPointer region);
    /// Invalid where there is no such row.
    [[nodiscard]] base::ValueId valueAt(int row) const;
    /// −1 where the value has no row.
    [[nodiscard]] int rowOf(base::ValueId value) const;

private:
    [[nodiscard]] int rows() const override { return static_cast<int>(m_values.size()); }
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;
    [[nodiscard]] std::vector<base::ValueId> ordered() const;
    [[nodiscard]] static QString tipOf(const RegionPart& part);

    const RunModel& m_model;
    RegionPointer m_region;
    std::vector<base::ValueId> m_values; ///< a row each; all of them have a part in m_region
    std::vector<const RegionPart*> m_parts;
};

} // namespace retro::views
