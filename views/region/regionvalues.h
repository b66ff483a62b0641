// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/regionfacts.h"

#include <QAbstractTableModel>

#include <vector>

namespace retro::views
{

class RunModel;

/// What each value puts into a region, a row per value: from the score down, inputs at the end. A stroke that follows
/// another one changes texts alone, so that a pane with many values keeps up with the pointer.
class RegionValuesModel final : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { ValueColumn, PartColumn, OfRegionColumn, OfItselfColumn, ColumnCount };

    explicit RegionValuesModel(const RunModel& model, QObject* parent = nullptr)
        : QAbstractTableModel(parent), m_model(model)
    {}

    /// Null: no rows.
    void setRegion(RegionPointer region);
    /// Invalid where there is no such row.
    [[nodiscard]] base::ValueId valueAt(int row) const;
    /// −1 where the value has no row.
    [[nodiscard]] int rowOf(base::ValueId value) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    [[nodiscard]] std::vector<base::ValueId> ordered() const;
    [[nodiscard]] QString textOf(const RegionPart& part, int column) const;
    [[nodiscard]] static QString tipOf(const RegionPart& part);

    const RunModel& m_model;
    RegionPointer m_region;
    std::vector<base::ValueId> m_values; ///< a row each; all of them have a part in m_region
    std::vector<const RegionPart*> m_parts;
};

} // namespace retro::views
