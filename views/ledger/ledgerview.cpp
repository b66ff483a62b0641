// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/ledgerview.h"

#include "core/base/file.h"
#include "views/common/csv.h"
#include "views/common/fonts.h"
#include "views/common/paintfile.h"
#include "views/common/runtexts.h"
#include "views/ledger/ledgerpane.h"
#include "views/ledger/ledgertable.h"
#include "views/ledger/ledgertablemodel.h"
#include "views/ledger/waterfall.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QPainter>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

namespace retro::views
{

LedgerView::LedgerView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Ledger"));
    setEmptyText(tr("No books yet. Open a model and a picture, then run."));
    m_pane = new LedgerPane(this);
    m_pane->setAccessibleName(tr("Where the relevance went"));
    m_table = new LedgerTable(this);
    connect(m_table, &LedgerTable::nodeChosen, &selection, &Selection::selectNode);
    connect(m_table, &LedgerTable::positionWanted, &cursor, &Cursor::moveTo);
    m_stack = new QStackedWidget(this);
    m_stack->addWidget(makeScroll(m_pane));
    m_stack->addWidget(m_table);
    auto* body = new QWidget(this);
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(makeSwitch());
    column->addWidget(m_stack, 1);
    setBody(body);
    setDetailed(false);
}

QWidget* LedgerView::makeSwitch()
{
    m_switch = new QWidget(this);
    auto* row = new QHBoxLayout(m_switch);
    row->setContentsMargins(fonts::px(10), fonts::px(4), fonts::px(10), fonts::px(4));
    row->setSpacing(0);
    auto* group = new QButtonGroup(this);
    const auto make = [&](const QString& text, const QString& tip, bool isTable) {
        auto* button = new QToolButton(m_switch);
        button->setText(text);
        button->setToolTip(tip);
        button->setCheckable(true);
        button->setChecked(!isTable);
        button->setProperty("segment", true);
        group->addButton(button);
        row->addWidget(button);
        connect(button, &QToolButton::clicked, this, [this, isTable] { showTable(isTable); });
        return button;
    };
    m_waterfallButton = make(tr("Waterfall"), tr("What each cause took, at this step"), false);
    m_tableButton = make(tr("Table"), tr("Every node, operator or rule, the largest losses first"), true);
    row->addStretch(1);
    return m_switch;
}

void LedgerView::setDetailed(bool isDetailed)
{
    m_switch->setVisible(isDetailed);
    if (!isDetailed) {
        showTable(false);
    }
}

bool LedgerView::isTable() const { return m_stack->currentIndex() == 1; }

void LedgerView::showTable(bool isTable)
{
    m_stack->setCurrentIndex(isTable ? 1 : 0);
    m_waterfallButton->setChecked(!isTable);
    m_tableButton->setChecked(isTable);
    fillTable();
}

/// Summed once per run, and only when somebody looks at it.
void LedgerView::fillTable()
{
    if (!isTable() || !model().hasRun()) {
        return;
    }
    if (m_isTableStale) {
        m_isTableStale = false;
        m_table->setRun(model().sharedRun());
    }
    m_table->setBooked(model().state().ledgerRows);
    m_table->showNode(model().nodeOf(selection().thing()));
}

const LedgerBooks& LedgerView::books() const { return m_pane->books(); }

QString LedgerView::hint() const
{
    const QString sentence = booksSentence(books());
    return sentence.isEmpty() ? tr("Where the relevance of the score went.") : sentence;
}

bool LedgerView::canShow(const SelectedThing& thing) const
{
    return isTable() && model().hasRun() && m_table->items().rowOf(model().nodeOf(thing)) >= 0;
}

QString LedgerView::emptyReason() const
{
    const bool hasTable = isTable() && !model().run().ledger.empty();
    if (!books().isEmpty() || hasTable) {
        return {};
    }
    return model().run().ledger.empty() ? tr("This run was not audited: it has no ledger.")
                                        : tr("No rule has been applied yet. Step forward to see where relevance goes.");
}

void LedgerView::refresh(Changes changes)
{
    if (changes.testAnyFlags(Change::Run | Change::State)) {
        m_pane->setBooks(ledgerBooks(model()));
    }
    m_isTableStale = m_isTableStale || changes.testFlag(Change::Run);
    fillTable();
}

QStringList LedgerView::exportFormats() const
{
    return {QStringLiteral("csv"), QStringLiteral("png"), QStringLiteral("svg"), QStringLiteral("pdf")};
}

base::Result<void> LedgerView::exportTo(const std::filesystem::path& path)
{
    if (isTable() && path.extension() == ".csv" && m_table->items().rowCount() > 0) {
        return base::writeFile(path, m_table->csv());
    }
    if (books().isEmpty()) {
        return base::usageError("there is no ledger to write at this step", path.string());
    }
    if (path.extension() == ".csv") {
        CsvText text({"line", "share", "amount"});
        for (const LedgerLine& line : books().lines) {
            text.add(line.name).add(line.share).add(line.amount).endRow();
        }
        return base::writeFile(path, text.take());
    }
    const QSizeF size(480, m_pane->sizeHint().height() + 12);
    const auto paint = [&](QPainter& painter) {
        const Theme& light = Theme::of(ThemeKind::Light);
        painter.fillRect(QRectF(QPointF(), size), light[Role::Base]);
        paintWaterfall(painter, books(), layoutWaterfall(books(), {12, 8, size.width() - 24, 0}), light);
    };
    return paintToFile(path, size, paint, hint(), runTexts(model().run(), model().position()));
}

} // namespace retro::views
