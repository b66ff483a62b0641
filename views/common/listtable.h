// SPDX-License-Identifier: Apache-2.0
#pragma once

class QAbstractItemModel;
class QTableView;

namespace retro::views
{

/// Makes a table a list of whole rows, `rowHeight` pixels each: no grid, no frame, no row numbers, no wrapped text, and
/// Tab leaves it. The columns stay to be sized.
void makeList(QTableView& table, QAbstractItemModel& model, int rowHeight);

} // namespace retro::views
