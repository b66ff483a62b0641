// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/ledgerview.h"

#include "core/base/file.h"
#include "views/common/csv.h"
#include "views/common/paintfile.h"
#include "views/ledger/ledgerpane.h"
#include "views/ledger/waterfall.h"

#include <QPainter>

namespace retro::views
{

LedgerView::LedgerView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Ledger"));
    setEmptyText(tr("No books yet. Open a model and a picture, then run."));
    m_pane = new LedgerPane(this);
    m_pane->setAccessibleName(tr("Where the relevance went"));
    setBody(makeScroll(m_pane));
}

const LedgerBooks& LedgerView::books() const { return m_pane->books(); }

QString LedgerView::hint() const
{
    const QString sentence = booksSentence(books());
    return sentence.isEmpty() ? tr("Where the relevance of the score went.") : sentence;
}

bool LedgerView::canShow(const SelectedThing& /*thing*/) const { return false; }

QString LedgerView::emptyReason() const
{
    if (!books().isEmpty()) {
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
}

QStringList LedgerView::exportFormats() const
{
    return {QStringLiteral("csv"), QStringLiteral("png"), QStringLiteral("svg"), QStringLiteral("pdf")};
}

base::Result<void> LedgerView::exportTo(const std::filesystem::path& path)
{
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
    return paintToFile(path, size, paint, hint());
}

} // namespace retro::views
