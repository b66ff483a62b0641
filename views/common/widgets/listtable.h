// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QKeySequence>

#include <functional>
#include <initializer_list>

class QAbstractItemModel;
class QAbstractItemView;
class QString;
class QTableView;
class QWidget;

namespace retro::views
{

/// Makes a table a list of whole rows, `rowHeight` pixels each: no grid, no frame, no row numbers, no wrapped text, and
/// Tab leaves it. The columns stay to be sized.
void makeList(QTableView& table, QAbstractItemModel& model, int rowHeight);
/// The same of a table that has its model.
void makeList(QTableView& table, int rowHeight);

/// A new list with a name for who cannot see it: every other row shaded, one is chosen at a time, none is edited.
[[nodiscard]] QTableView* newList(QWidget* parent, const QString& name, QAbstractItemModel& model, int rowHeight);

/// Widths of the first columns in design pixels; 0: the column shares the room that the others leave.
void setColumnWidths(QTableView& table, std::initializer_list<double> widths);

/// A click on the head of a column sorts by it, the largest first; a second click turns the order round. `sorted` is
/// called behind it.
void sortOnClick(QTableView& table, std::function<void()> sorted);

/// An entry of a list or table, for its menu, with a key that holds while the list has the keyboard.
void addItemAction(QAbstractItemView& items, const QString& words, const QKeySequence& key, std::function<void()> what);

} // namespace retro::views
