// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/notebook/notebookentry.h"

#include <QAbstractTableModel>

#include <deque>
#include <optional>
#include <vector>

namespace retro::views
{

/// Places of a run as rows: the pinned ones by step, then the trail of those that were visited, newest first. Another
/// run empties it; the same run with other numbers (its input is being covered) keeps the rows. GUI thread.
class NotebookModel final : public QAbstractTableModel
{
    Q_OBJECT

public:
    enum Column { StepColumn, ModeColumn, PlaceColumn, SumColumn, CommentColumn, ColumnCount };
    enum Role { ModeRole = Qt::UserRole, IsPinnedRole, IsHereRole /**< cursor and selection are there */, IsQuietRole };
    /// More visited places push the oldest out; longer comments are cut.
    static constexpr int kMostTrail = 500;
    static constexpr int kMostCharacters = 1000;

    explicit NotebookModel(const RunModel& model, QObject* parent = nullptr);

    /// A place has been visited: it comes on top of the trail unless it is the one before, or pinned.
    void visit(const Place& place);
    /// Somebody went back to a place of before: it is no new one.
    void setLast(const Place& place) { m_last = place; }
    /// Cursor and selection are there now.
    void setHere(const Place& place);

    /// Row of a place; pinned when it is not yet. −1 when there is no run or no room (refused() tells).
    int pin(const Place& place);
    /// Pins a row of the trail; its row then. −1 when there is no room.
    int pin(int row);
    /// A pinned row goes back to the top of the trail, without its comment.
    void unpin(int row);
    /// Takes a row away, pinned or not.
    void remove(int row);
    /// Empties the trail; pinned rows stay.
    void clearTrail();

    /// The pinned rows, for saving; and those of a run that was opened, in place of what is there.
    [[nodiscard]] std::vector<trace::Note> notes() const;
    void setNotes(const std::vector<trace::Note>& notes);

    [[nodiscard]] int pinnedCount() const { return static_cast<int>(m_pinned.size()); }
    [[nodiscard]] const NotebookEntry& entryAt(int row) const;
    [[nodiscard]] bool isPinned(int row) const { return row < pinnedCount(); }
    /// Row of a place; −1 = none.
    [[nodiscard]] int rowOf(const Place& place) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
    /// The comment of a pinned row; line ends become blanks.
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

signals:
    void refused(const QString& why);
    /// Pinned rows came, went or have another comment.
    void notesChanged();

private:
    void takeRun();
    void describeAll();
    [[nodiscard]] NotebookEntry& entry(int row);
    [[nodiscard]] int pinnedRowFor(const Place& place) const;
    [[nodiscard]] bool hasRoom();
    void shrinkTrail();
    [[nodiscard]] QVariant textOf(const NotebookEntry& entry, int column) const;
    void notifyRow(int row);

    const RunModel& m_model;
    std::vector<NotebookEntry> m_pinned;
    std::deque<NotebookEntry> m_trail;
    std::optional<Place> m_last; ///< where the person is as far as the trail knows
    std::optional<Place> m_here;
    std::shared_ptr<const graph::Graph> m_graph; ///< of the run that the rows are of
    std::uint64_t m_events = 0;
};

} // namespace retro::views
