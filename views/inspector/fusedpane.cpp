// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/fusedpane.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/listtable.h"
#include "views/inspector/fusedmodel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace retro::views
{

namespace
{
/// Rows that are seen at once; the rest scrolls.
constexpr int kMostRows = 10;
constexpr double kRow = 20;
} // namespace

FusedPane::FusedPane(QWidget* parent) : QWidget(parent)
{
    auto* column = makeBox<QVBoxLayout>(this, {fonts::px(10), fonts::px(2), fonts::px(10), fonts::px(8)}, fonts::px(4));
    auto* head = new QHBoxLayout;
    head->setSpacing(fonts::px(8));
    m_title = new ElidedLabel({}, Role::Text, fonts::label(QFont::DemiBold), this);
    m_button = new QPushButton(this);
    head->addWidget(m_title, 1);
    head->addWidget(m_button);
    column->addLayout(head);
    m_problem = new ElidedLabel({}, Role::AlarmText, fonts::label(), this);
    column->addWidget(m_problem);
    m_model = new FusedModel(this);
    m_table = new QTableView(this);
    makeList(*m_table, *m_model, fonts::px(kRow));
    m_table->setAccessibleName(tr("What this node stands for"));
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setAlternatingRowColors(true);
    m_table->setTextElideMode(Qt::ElideMiddle);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    column->addWidget(m_table);
    connect(m_button, &QPushButton::clicked, this, [this] { emit openRequested(!m_isOpen); });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &FusedPane::chosenChanged);
    hide();
}

void FusedPane::setNode(const FusedNode* node, std::optional<double> whole)
{
    const FusedNode shown = node != nullptr ? *node : FusedNode{};
    const bool isSame = node != nullptr && m_node == shown.node && m_isOpen == shown.isOpen;
    const int row = isSame ? m_table->currentIndex().row() : -1;
    m_node = shown.node;
    m_isOpen = shown.isOpen;
    m_model->setNode(shown, whole);
    if (row >= 0) {
        m_table->setCurrentIndex(m_model->index(row, 0));
    }
    setVisible(node != nullptr);
    if (node == nullptr) {
        return;
    }
    m_title->setText((shown.isComposed ? tr("Does %1 steps") : tr("Stands for %1 nodes")).arg(memberCount(shown)));
    m_button->setText(m_isOpen ? tr("Close") : tr("Open this node"));
    m_button->setToolTip(m_isOpen ? tr("Runs again without looking inside")
                                  : tr("Runs again and carries relevance through each of them by its own rule"));
    m_problem->setText(shown.problem);
    m_problem->setVisible(!shown.problem.isEmpty());
    QHeaderView& header = *m_table->horizontalHeader();
    for (int i = 0; i < m_model->columnCount(); ++i) {
        const bool isText = i == FusedModel::Name || i == FusedModel::Rule; // what gives way when the pane is narrow
        header.setSectionResizeMode(i, isText ? QHeaderView::Stretch : QHeaderView::ResizeToContents);
    }
    fitHeight();
}

const FusedMember* FusedPane::chosen() const
{
    const QModelIndex current = m_table->currentIndex();
    return m_isOpen && !isHidden() && current.isValid() ? m_model->memberAt(current.row()) : nullptr;
}

void FusedPane::fitHeight()
{
    const int rows = std::min(m_model->rowCount(), kMostRows);
    m_table->setFixedHeight(m_table->horizontalHeader()->sizeHint().height() +
                            rows * m_table->verticalHeader()->defaultSectionSize() + 2 * m_table->frameWidth());
}

} // namespace retro::views

#include "moc_fusedpane.cpp"
