// SPDX-License-Identifier: Apache-2.0
#include "views/verify/memorypage.h"

#include "views/common/jobrunner.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/listtable.h"
#include "views/verify/storagecurve.h"
#include "views/verify/storagemodel.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

namespace retro::views
{

MemoryPage::MemoryPage(QWidget* parent)
    : QWidget(parent), m_items(new StorageModel(this)), m_curve(new StorageCurve(this)), m_jobs(new JobRunner(this))
{
    auto* row = makeBox<QHBoxLayout>(this, {}, 0);
    auto* left = new QVBoxLayout;
    left->setSpacing(0);
    makeTable();
    left->addWidget(m_table, 1);
    m_detail = new QLabel(this);
    m_detail->setFont(fonts::label());
    m_detail->setWordWrap(true);
    m_detail->setTextFormat(Qt::PlainText);
    m_detail->setContentsMargins(fonts::px(8), fonts::px(4), fonts::px(8), fonts::px(4));
    left->addWidget(m_detail);
    makeButtons();
    left->addWidget(m_buttons);
    row->addLayout(left, 3);
    row->addWidget(m_curve, 2);
    connect(m_items, &StorageModel::choiceChanged, this, &MemoryPage::follow);
    showColumns();
}

void MemoryPage::makeButtons()
{
    m_buttons = new QWidget(this);
    auto* row = makeBox<QHBoxLayout>(m_buttons, {fonts::px(8), fonts::px(4), fonts::px(8), fonts::px(4)}, fonts::px(8));
    const auto add = [&](const QString& text, const QString& tip) {
        auto* button = new QToolButton(m_buttons);
        button->setText(text);
        button->setToolTip(tip);
        row->addWidget(button);
        return button;
    };
    connect(add(tr("Store all"), tr("Keep every tensor until the gradient has read it")), &QToolButton::clicked, this,
            [this] { markAll(true); });
    connect(add(tr("Rebuild all"), tr("Keep none: every one is computed again where the gradient reads it")),
            &QToolButton::clicked, this, [this] { markAll(false); });
    row->addStretch(1);
    m_pack = new QCheckBox(tr("Pack"), m_buttons);
    m_pack->setToolTip(
        tr("When the gradient is run, pack what is stored to signs and winners where its readers look at "
           "no more; where they do, the reason is given"));
    row->addWidget(m_pack);
    QToolButton* run = add(tr("Run the gradient"), tr("Run the gradient of the target with these marks; what became of "
                                                      "each tensor then stands beside its mark"));
    run->setObjectName(QStringLiteral("run"));
    connect(run, &QToolButton::clicked, this, &MemoryPage::askGradient);
}

void MemoryPage::makeTable()
{
    m_table = newList(this, tr("Tensors that the gradient reads"), *m_items, fonts::px(22));
    m_table->horizontalHeader()->setMinimumSectionSize(fonts::px(40));
    setColumnWidths(*m_table, {0, 76, 56, 60, 76, 0});
    connect(m_table, &QTableView::activated, this, [this] { choose(true); });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentChanged, this, [this] { choose(false); });
}

void MemoryPage::setFacts(StorageFactsPointer facts)
{
    m_facts = std::move(facts);
    m_message.clear();
    m_items->setFacts(m_facts);
    showColumns();
}

void MemoryPage::setForwarded(std::vector<ForwardedTensor> forwarded)
{
    m_items->setForwarded(std::move(forwarded));
    showColumns();
}

bool MemoryPage::isFilled() const { return m_facts || !m_items->forwarded().empty(); }

/// What nobody knows takes no room.
void MemoryPage::showColumns()
{
    const bool hasRun = !m_items->forwarded().empty();
    for (const int column : {StorageModel::FormColumn, StorageModel::KeptColumn, StorageModel::ReasonColumn}) {
        m_table->setColumnHidden(column, !hasRun);
    }
    m_table->setColumnHidden(StorageModel::CostColumn, !m_facts);
    auto& row = static_cast<QHBoxLayout&>(*layout());
    row.setStretch(0, hasRun ? 2 : 3); // against the curve
    row.setStretch(1, hasRun ? 1 : 2);
    m_buttons->setVisible(m_facts != nullptr);
    m_curve->setVisible(m_facts != nullptr);
    showDetail();
}

/// The row that is chosen; else the first that is not as asked for, or −1.
int MemoryPage::detailRow() const
{
    if (m_table->currentIndex().isValid()) {
        return m_table->currentIndex().row();
    }
    for (int row = 0; row < m_items->rowCount(); ++row) {
        const ForwardedTensor* run = m_items->forwardedAt(row);
        if (run != nullptr && run->what.isFallback) {
            return row;
        }
    }
    return -1;
}

QString MemoryPage::detail() const { return m_detail->text(); }

void MemoryPage::showDetail()
{
    const bool hasRun = !m_items->forwarded().empty();
    m_detail->setVisible(hasRun);
    const int row = hasRun ? detailRow() : -1;
    QStringList lines;
    if (hasRun) {
        lines << runMessage() + QLatin1Char('.');
    }
    if (row >= 0 && m_items->forwardedAt(row) != nullptr) {
        lines << m_items->sentenceAt(row) + QLatin1Char('.');
    }
    m_detail->setText(lines.join(QLatin1Char(' ')));
}

QString MemoryPage::runMessage() const
{
    std::int64_t bytes = 0;
    std::int64_t kept = 0;
    int fallbacks = 0;
    for (const ForwardedTensor& one : m_items->forwarded()) {
        bytes += one.what.bytes;
        kept += one.what.kept;
        fallbacks += one.what.isFallback ? 1 : 0;
    }
    const QString text = tr("This run kept %1 of %2").arg(bytesText(kept), bytesText(bytes));
    return fallbacks == 0 ? text : tr("%1, %2 not as asked for").arg(text).arg(fallbacks);
}

QString MemoryPage::message() const { return !m_facts && !m_items->forwarded().empty() ? runMessage() : m_message; }

void MemoryPage::askGradient()
{
    std::vector<base::ValueId> rebuilt;
    for (const StorageTensor& tensor : m_facts->tensors) {
        if (m_items->rebuilt().contains(tensor.id)) {
            rebuilt.push_back(tensor.value);
        }
    }
    emit gradientRequested(rebuilt, m_pack->isChecked());
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
    showDetail();
    const QModelIndex index = m_table->currentIndex();
    const base::NodeId node = index.isValid() ? m_items->nodeAt(index.row()) : base::NodeId();
    if (isActivated) {
        emit nodeActivated(node);
    } else {
        emit nodeChosen(node);
    }
}

} // namespace retro::views

#include "moc_memorypage.cpp"
