// SPDX-License-Identifier: Apache-2.0
#include "views/verify/memorypage.h"

#include "views/common/fonts.h"
#include "views/common/jobrunner.h"
#include "views/common/listtable.h"
#include "views/common/numbertext.h"
#include "views/verify/storagecurve.h"
#include "views/verify/storagemodel.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

namespace retro::views
{

MemoryPage::MemoryPage(QWidget* parent)
    : QWidget(parent), m_items(new StorageModel(this)), m_curve(new StorageCurve(this)), m_jobs(new JobRunner(this))
{
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    auto* left = new QVBoxLayout;
    left->setSpacing(0);
    makeTable();
    left->addWidget(m_table, 1);
    auto* buttons = new QHBoxLayout;
    buttons->setContentsMargins(fonts::px(8), fonts::px(4), fonts::px(8), fonts::px(4));
    buttons->setSpacing(fonts::px(8));
    const auto add = [&](const QString& text, const QString& tip, bool isStored) {
        auto* button = new QToolButton(this);
        button->setText(text);
        button->setToolTip(tip);
        buttons->addWidget(button);
        connect(button, &QToolButton::clicked, this, [this, isStored] { markAll(isStored); });
    };
    add(tr("Store all"), tr("Keep every tensor until the gradient has read it"), true);
    add(tr("Rebuild all"), tr("Keep none: every one is computed again where the gradient reads it"), false);
    buttons->addStretch(1);
    left->addLayout(buttons);
    row->addLayout(left, 1);
    row->addWidget(m_curve, 1);
    connect(m_items, &StorageModel::choiceChanged, this, &MemoryPage::follow);
}

void MemoryPage::makeTable()
{
    m_table = new QTableView(this);
    m_table->setAccessibleName(tr("Tensors that the gradient reads"));
    m_table->setAlternatingRowColors(true);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    makeList(*m_table, *m_items, fonts::px(22));
    QHeaderView* header = m_table->horizontalHeader();
    header->setMinimumSectionSize(fonts::px(40));
    header->setSectionResizeMode(StorageModel::NameColumn, QHeaderView::Stretch);
    header->resizeSection(StorageModel::BytesColumn, fonts::px(76));
    header->resizeSection(StorageModel::CostColumn, fonts::px(76));
    connect(m_table, &QTableView::activated, this, [this] { choose(true); });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, [this] { choose(false); });
}

void MemoryPage::setFacts(StorageFactsPointer facts)
{
    m_facts = std::move(facts);
    m_message.clear();
    m_items->setFacts(m_facts);
}

void MemoryPage::markAll(bool isStored)
{
    std::set<std::uint32_t> rebuilt;
    if (!isStored && m_facts) {
        for (const StorageTensor& tensor : m_facts->tensors) {
            rebuilt.insert(tensor.id);
        }
    }
    m_items->setRebuilt(std::move(rebuilt));
}

/// The newest choice wins; the curve before stays until it is there.
void MemoryPage::follow()
{
    if (!m_facts) {
        m_jobs->cancel();
        m_curve->setTracks({}, {});
        return;
    }
    m_jobs->start([this, facts = m_facts, rebuilt = m_items->rebuilt()](const std::stop_token&) -> JobRunner::Delivery {
        const StorageTrack now = facts->follow(rebuilt);
        const StorageTrack all = facts->follow({});
        const QString message = tr("Peak %1, %2 with everything stored; %3 of %4 rebuilt, %5 %6 more")
                                    .arg(bytesText(now.peak), bytesText(all.peak))
                                    .arg(rebuilt.size())
                                    .arg(facts->tensors.size())
                                    .arg(valueText(now.extraCost, 3), facts->costUnit);
        return [this, message, now, all] {
            m_message = message;
            m_curve->setTracks(now, all);
            emit messageChanged();
        };
    });
}

void MemoryPage::choose(bool isActivated)
{
    const QModelIndex index = m_table->currentIndex();
    const base::NodeId node = index.isValid() && m_facts ? m_items->at(index.row()).node : base::NodeId();
    if (isActivated) {
        emit nodeActivated(node);
    } else {
        emit nodeChosen(node);
    }
}

} // namespace retro::views
