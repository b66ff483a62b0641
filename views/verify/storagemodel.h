// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/verify/storagefacts.h"

#include "views/common/widgets/columntable.h"

#include <vector>

namespace retro::views
{

/// The tensors that a gradient reads, each marked as stored (checked) or rebuilt, and what became of each in the run on
/// screen, where that run says so. A tensor that only the run knows has no mark.
class StorageModel final : public ColumnTable
{
    Q_OBJECT

public:
    enum Column { NameColumn, BytesColumn, CostColumn, FormColumn, KeptColumn, ReasonColumn, ColumnCount };

    explicit StorageModel(QObject* parent = nullptr);

    /// Everything is stored at first. Null empties it of marks.
    void setFacts(StorageFactsPointer facts);
    /// What the run on screen did; empty = it does not say.
    void setForwarded(std::vector<ForwardedTensor> forwarded);
    [[nodiscard]] const std::vector<ForwardedTensor>& forwarded() const { return m_forwarded; }
    /// Tensors that are rebuilt, by their ids.
    [[nodiscard]] const std::set<std::uint32_t>& rebuilt() const { return m_rebuilt; }
    void setRebuilt(std::set<std::uint32_t> rebuilt);
    /// What can be marked; null where the row is of the run alone.
    [[nodiscard]] const StorageTensor* tensorAt(int row) const;
    /// What the run did; null where it does not say.
    [[nodiscard]] const ForwardedTensor* forwardedAt(int row) const;
    /// That makes the tensor of a row; may be invalid.
    [[nodiscard]] base::NodeId nodeAt(int row) const;
    [[nodiscard]] QString nameAt(int row) const;
    [[nodiscard]] std::int64_t bytesAt(int row) const;
    /// What the run did with the tensor of a row, in a sentence; empty where it does not say.
    [[nodiscard]] QString sentenceAt(int row) const;
    [[nodiscard]] bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

signals:
    /// A tensor is stored, or no longer.
    void choiceChanged();

private:
    [[nodiscard]] int rows() const override { return static_cast<int>(m_rows.size()); }
    [[nodiscard]] QString textOf(int row, int column) const override;
    [[nodiscard]] QVariant detailOf(int row, int column, int role) const override;

    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    struct Row
    {
        std::size_t tensor = kNone;    ///< place in the facts
        std::size_t forwarded = kNone; ///< place in what the run did
    };

    void makeRows();
    [[nodiscard]] QVariant markOf(int row, int column) const;
    [[nodiscard]] QString tipOf(int row) const;
    [[nodiscard]] QVariant tipOfColumn(int column) const override;
    [[nodiscard]] QVariant brushOf(int row, int column) const;

    StorageFactsPointer m_facts;
    std::vector<ForwardedTensor> m_forwarded;
    std::vector<Row> m_rows;
    std::set<std::uint32_t> m_rebuilt;
};

/// "stored", "rebuilt", "alias", "packed": what a table says of a form.
[[nodiscard]] QString wordOf(trace::ForwardedForm form);

} // namespace retro::views
