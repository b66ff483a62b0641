// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/ledgertable.h"

#include "views/common/csv.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/listtable.h"
#include "views/ledger/ledgertablemodel.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QVBoxLayout>

namespace retro::views
{

LedgerTable::LedgerTable(QWidget* parent) : QWidget(parent), m_items(new LedgerTableModel(this))
{
    auto* column = makeBox<QVBoxLayout>(this, {}, 0);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(fonts::px(10), 0, fonts::px(10), fonts::px(4));
    m_choice = new QComboBox(this);
    m_choice->addItems({tr("node"), tr("operator"), tr("rule")});
    m_choice->setAccessibleName(tr("What a row sums up"));
    m_choice->setToolTip(tr("One row per node, operator or rule"));
    row->setSpacing(fonts::px(6));
    auto* label = new QLabel(tr("By"), this);
    label->setFont(fonts::label());
    label->setBuddy(m_choice);
    m_note = new ElidedLabel({}, Role::Text, fonts::label(), this);
    row->addWidget(label);
    row->addWidget(m_choice);
    row->addWidget(m_note, 1);
    column->addLayout(row);
    makeTable();
    column->addWidget(m_table, 1);
    connect(m_choice, &QComboBox::activated, this,
            [this](int index) { setGrouping(static_cast<LedgerGrouping>(index)); });
}

void LedgerTable::makeTable()
{
    m_table = newList(this, tr("Balance of every node"), *m_items, fonts::px(20));
    m_table->setTextElideMode(Qt::ElideMiddle);
    m_table->horizontalHeader()->setMinimumSectionSize(fonts::px(48));
    setColumnWidths(*m_table, {0, 84, 82, 82, 82, 92, 100});
    sortOnClick(*m_table, [] {});
    connect(m_table, &QTableView::clicked, this, [this](const QModelIndex& index) {
        const base::NodeId node = m_items->at(index.row()).node;
        if (node.isValid()) {
            emit nodeChosen(node);
        }
    });
    connect(m_table, &QTableView::activated, this, [this](const QModelIndex& index) {
        if (const auto position = m_items->at(index.row()).position) {
            emit positionWanted(*position);
        }
    });
}

void LedgerTable::setRun(std::shared_ptr<const trace::Run> run, const std::optional<VisitRange>& range,
                         const QString& part)
{
    m_run = std::move(run);
    m_range = range;
    m_note->setText(range ? tr("%1, the largest losses first").arg(part) : tr("whole run, the largest losses first"));
    fill();
}

void LedgerTable::fill()
{
    m_items->setRecords(m_run ? ledgerRows(*m_run, m_grouping, m_range) : std::vector<LedgerRow>());
    m_table->horizontalHeader()->setSortIndicatorShown(false);
}

void LedgerTable::setGrouping(LedgerGrouping grouping)
{
    m_grouping = grouping;
    m_choice->setCurrentIndex(static_cast<int>(grouping));
    fill();
}

void LedgerTable::setBooked(std::uint64_t rows) { m_items->setBooked(rows); }

void LedgerTable::showNode(base::NodeId node)
{
    const int row = m_items->rowOf(node);
    if (row < 0) {
        m_table->clearSelection();
    } else if (m_table->currentIndex().row() != row || !m_table->selectionModel()->hasSelection()) {
        m_table->selectRow(row);
    }
}

std::string LedgerTable::csv() const
{
    CsvText text({"where", "what", "arrived", "handed_on", "bias", "stabiliser", "zero_denominator", "constant",
                  "duplicate", "unread", "gradient", "filter", "rounding", "clipped_sign", "mask", "saturation",
                  "taylor_rest", "unexplained"});
    for (int i = 0; i < m_items->rowCount(); ++i) {
        const LedgerRow& row = m_items->at(i);
        text.add(row.name).add(row.detail).add(row.arrived).add(row.handedOn);
        for (const double amount : row.causes) {
            text.add(amount);
        }
        text.add(row.unexplained).endRow();
    }
    return text.take();
}

} // namespace retro::views

#include "moc_ledgertable.cpp"
