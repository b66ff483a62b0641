// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/inspector/tensorslice.h"

#include <QAbstractTableModel>

namespace retro::views
{

/// The cells of a cut through a tensor; numbers are read when they are painted.
class ValuesModel final : public QAbstractTableModel
{
    Q_OBJECT

public:
    using QAbstractTableModel::QAbstractTableModel;

    /// Shows a tensor (shared, immutable); an invalid one empties the table.
    void setTensor(const tensor::Tensor& tensor, const TensorSlice& slice);
    [[nodiscard]] const tensor::Tensor& tensor() const { return m_tensor; }
    [[nodiscard]] const TensorSlice& slice() const { return m_slice; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    tensor::Tensor m_tensor;
    TensorSlice m_slice;
};

} // namespace retro::views
