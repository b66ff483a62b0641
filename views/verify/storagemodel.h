// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/verify/storagefacts.h"

#include <QAbstractTableModel>

namespace retro::views
{

/// The tensors that a gradient reads, each marked as stored (checked) or rebuilt.
class StorageModel final : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { NameColumn, BytesColumn, CostColumn, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    /// Everything is stored at first. Null empties it.
    void setFacts(StorageFactsPointer facts);
    /// Tensors that are rebuilt, by their ids.
    [[nodiscard]] const std::set<std::uint32_t>& rebuilt() const { return m_rebuilt; }
    void setRebuilt(std::set<std::uint32_t> rebuilt);
    [[nodiscard]] const StorageTensor& at(int row) const { return m_facts->tensors[static_cast<std::size_t>(row)]; }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

signals:
    /// A tensor is stored, or no longer.
    void choiceChanged();

private:
    [[nodiscard]] QString tipOf(const StorageTensor& tensor) const;
    [[nodiscard]] static QString textOf(const StorageTensor& tensor, int column);

    StorageFactsPointer m_facts;
    std::set<std::uint32_t> m_rebuilt;
};

} // namespace retro::views
