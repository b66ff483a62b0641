// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"
#include "views/promises/promiseforest.h"

#include <QAbstractItemModel>

namespace retro::views
{

struct PromiseAge;

/// The promise forest of the current run at the cursor. Indexes carry row pointers; rows never move, so stepping only
/// changes data. Rows that are not raised yet are shown too, as such.
class PromiseTreeModel final : public QAbstractItemModel
{
    Q_OBJECT

public:
    enum Column {
        NameColumn,
        StateColumn,
        OpenedColumn, ///< visit in which it was asked for
        AgeColumn,    ///< visits since then, until it was answered or until the cursor
        DepthColumn,
        ShapeColumn,
        BytesColumn, ///< what it keeps in the frontier at the cursor
        ColumnCount
    };
    enum Role {
        StateRole = Qt::UserRole, ///< PromiseRowState as int
        IdRole,                   ///< ".1 P2", the bold part of the name
        PlaceRole,                ///< name of the node
        IsBoldRole                ///< a promise, or a layer
    };

    explicit PromiseTreeModel(const RunModel& model, QObject* parent = nullptr);

    /// Another run: builds the forest anew.
    void resetRun();
    /// The cursor moved: tells which rows are in another state, or only that the roots changed when there are many such
    /// rows. What only grew older, or keeps more than before, is not told row by row either, which would take long in a
    /// large tree: whoever shows it draws what is in sight anew.
    void setPosition(std::uint64_t position);

    [[nodiscard]] const PromiseForest& forest() const { return *m_forest; }
    [[nodiscard]] std::uint64_t position() const { return m_position; }
    [[nodiscard]] QModelIndex indexOf(base::PromiseId promise) const;
    [[nodiscard]] static const PromiseRow* rowAt(const QModelIndex& index);
    /// "2 wait", "4 fulfilled", "not yet".
    [[nodiscard]] static QString layerText(const LayerCounts& counts);

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
    using QObject::parent;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    using Siblings = std::vector<std::unique_ptr<PromiseRow>>;

    [[nodiscard]] const Siblings& childrenOf(const QModelIndex& parent) const;
    [[nodiscard]] QString idText(const PromiseRow& row) const;
    [[nodiscard]] QString placeText(const PromiseRow& row) const;
    [[nodiscard]] QString cellText(const PromiseRow& row, int column) const;
    [[nodiscard]] QString ageText(const PromiseRow& row) const;
    [[nodiscard]] QString bytesText(const PromiseRow& row) const;
    [[nodiscard]] QString ageTip(const PromiseAge& age) const;
    [[nodiscard]] QString tipText(const PromiseRow& row) const;
    /// The cell for who hears it: without its title a bare number says nothing.
    [[nodiscard]] QString spokenText(const PromiseRow& row, int column) const;
    /// Bytes that a promise keeps at the cursor; 0 while the window shows another run.
    [[nodiscard]] std::int64_t bytesOf(base::PromiseId promise) const;
    [[nodiscard]] bool looksDifferent(const PromiseRow& row, std::uint64_t before) const;
    /// Neighbours, the last included, that are in another state.
    struct Span
    {
        PromiseRow* first = nullptr;
        PromiseRow* last = nullptr;
    };

    void addChanges(const Siblings& rows, std::uint64_t before, std::vector<Span>& spans) const;
    void notifyChanges(std::uint64_t before);
    void tell(const Span& span);

    [[nodiscard]] QString label(base::NodeId node) const;

    const RunModel& m_model;
    std::shared_ptr<const trace::Run> m_run; ///< the run of the forest, whatever the window shows by now
    std::shared_ptr<const PromiseForest> m_forest = std::make_shared<const PromiseForest>();
    std::uint64_t m_position = 0;
};

/// "waits", "fulfilled", "found", "constant", "not yet".
[[nodiscard]] QString wordOf(PromiseRowState state);

} // namespace retro::views
