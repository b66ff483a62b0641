// SPDX-License-Identifier: Apache-2.0
#include "views/common/listtable.h"

#include <QHeaderView>
#include <QTableView>

namespace retro::views
{

void makeList(QTableView& table, QAbstractItemModel& model, int rowHeight)
{
    table.setFrameShape(QFrame::NoFrame);
    table.setShowGrid(false);
    table.setSelectionBehavior(QAbstractItemView::SelectRows);
    table.setWordWrap(false);
    table.setTabKeyNavigation(false);
    table.setModel(&model);
    QHeaderView* rows = table.verticalHeader();
    rows->hide();
    rows->setSectionResizeMode(QHeaderView::Fixed);
    rows->setMinimumSectionSize(rowHeight);
    rows->setDefaultSectionSize(rowHeight);
    table.horizontalHeader()->setHighlightSections(false);
}

} // namespace retro::views
