// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/listtable.h"

#include "views/common/paint/fonts.h"

#include <QAction>
#include <QHeaderView>
#include <QTableView>

namespace retro::views
{

void makeList(QTableView& table, QAbstractItemModel& model, int rowHeight)
{
    table.setModel(&model);
    makeList(table, rowHeight);
}

void makeList(QTableView& table, int rowHeight)
{
    table.setFrameShape(QFrame::NoFrame);
    table.setShowGrid(false);
    table.setSelectionBehavior(QAbstractItemView::SelectRows);
    table.setWordWrap(false);
    table.setTabKeyNavigation(false);
    QHeaderView* rows = table.verticalHeader();
    rows->hide();
    rows->setSectionResizeMode(QHeaderView::Fixed);
    rows->setMinimumSectionSize(rowHeight);
    rows->setDefaultSectionSize(rowHeight);
    table.horizontalHeader()->setHighlightSections(false);
}

QTableView* newList(QWidget* parent, const QString& name, QAbstractItemModel& model, int rowHeight)
{
    auto* table = new QTableView(parent);
    table->setAccessibleName(name);
    table->setAlternatingRowColors(true);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    makeList(*table, model, rowHeight);
    return table;
}

void setColumnWidths(QTableView& table, std::initializer_list<double> widths)
{
    int section = 0;
    for (const double width : widths) {
        if (width == 0) {
            table.horizontalHeader()->setSectionResizeMode(section, QHeaderView::Stretch);
        } else {
            table.horizontalHeader()->resizeSection(section, fonts::px(width));
        }
        ++section;
    }
}

void sortOnClick(QTableView& table, std::function<void()> sorted)
{
    QHeaderView* header = table.horizontalHeader();
    header->setSectionsClickable(true);
    header->setSortIndicatorShown(false);
    QObject::connect(
        header, &QHeaderView::sectionClicked, &table, [&table, header, sorted = std::move(sorted)](int section) {
            const bool isAgain = header->isSortIndicatorShown() && header->sortIndicatorSection() == section;
            const bool wasDescending = isAgain && header->sortIndicatorOrder() == Qt::DescendingOrder;
            const Qt::SortOrder order = wasDescending ? Qt::AscendingOrder : Qt::DescendingOrder;
            header->setSortIndicator(section, order);
            header->setSortIndicatorShown(true);
            table.model()->sort(section, order);
            sorted();
        });
}

void addItemAction(QAbstractItemView& items, const QString& words, const QKeySequence& key, std::function<void()> what)
{
    auto* action = new QAction(words, &items);
    action->setShortcut(key);
    action->setShortcutContext(Qt::WidgetShortcut);
    items.addAction(action);
    QObject::connect(action, &QAction::triggered, &items, std::move(what));
}

} // namespace retro::views
