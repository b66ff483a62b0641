// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/ledgerfigures.h"

#include "core/trace/meantrelevance.h"
#include "views/common/causewords.h"
#include "views/common/numbertext.h"
#include "views/ledger/ledgertranslation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace retro::views
{

namespace
{

// Causes below this share of the start share one line.
constexpr double kLeastShare = 5e-4;

double reachedInputs(const RunModel& model)
{
    double sum = 0;
    for (const base::ValueId input : model.graph().inputs()) {
        sum += trace::meantSum(model.run(), input, model.relevanceHandle(input));
    }
    return sum;
}

struct Totals
{
    std::array<double, event::kCauseCount> causes{};
    double unexplained = 0;
};

void add(Totals& totals, const event::LedgerEntry& entry)
{
    for (std::size_t c = 0; c < totals.causes.size(); ++c) {
        totals.causes[c] += entry.causes[c];
    }
    totals.unexplained += entry.unexplained();
}

Totals totalsUpTo(const RunModel& model)
{
    Totals totals;
    const std::vector<event::LedgerEntry>& ledger = model.run().ledger;
    const std::size_t rows = std::min<std::size_t>(model.state().ledgerRows, ledger.size());
    for (std::size_t row = 0; row < rows; ++row) {
        add(totals, ledger[row]);
    }
    return totals;
}

Totals totalsIn(const trace::Run& run, const VisitRange& range)
{
    Totals totals;
    for (const event::LedgerEntry& entry : run.ledger) {
        if (entry.visit >= range.first && entry.visit <= range.last) {
            add(totals, entry);
        }
    }
    return totals;
}

void addLine(LedgerBooks& books, LedgerKind kind, const QString& name, double amount)
{
    books.lines.push_back({kind, event::Cause::Bias, name, amount, amount / books.started});
}

LedgerLine causeLine(event::Cause cause, double change, double started)
{
    return {LedgerKind::Cause, cause, causeText(cause, change / started > 0), change, change / started};
}

// One line per cause; those too small for one share a line, unless there is only one of them.
void addCauses(const Totals& totals, LedgerBooks& books)
{
    std::vector<LedgerLine> small;
    for (std::size_t c = 0; c < totals.causes.size(); ++c) {
        if (totals.causes[c] == 0) {
            continue;
        }
        // The books count what is lost as positive.
        const LedgerLine line = causeLine(static_cast<event::Cause>(c), -totals.causes[c], books.started);
        (std::abs(line.share) < kLeastShare ? small : books.lines).push_back(line);
    }
    if (small.size() == 1) {
        books.lines.push_back(small.front());
    } else if (!small.empty()) {
        LedgerLine others{LedgerKind::Others, event::Cause::Rounding, ledgerText("Other causes"), 0, 0};
        for (const LedgerLine& line : small) {
            others.amount += line.amount;
            others.share += line.share;
        }
        books.lines.push_back(others);
    }
}

// What the sentence says of a cause or of what is on its way; empty for other lines and for what is too small.
QString shortText(const LedgerLine& line)
{
    if (line.kind == LedgerKind::OnItsWay) {
        return ledgerText("%1 on its way").arg(percentText(line.share));
    }
    if (line.kind != LedgerKind::Cause || std::abs(line.share) < kLeastShare) {
        return {};
    }
    const QString sign = line.share > 0 ? QStringLiteral("+") : QString();
    return QStringLiteral("%1%2 %3").arg(sign, percentText(std::abs(line.share)), shortCauseText(line.cause));
}

} // namespace

LedgerBooks ledgerBooks(const RunModel& model)
{
    LedgerBooks books;
    books.started = startedIn(model.run());
    if (model.run().ledger.empty() || model.state().ledgerRows == 0 || books.started == 0) {
        return books;
    }
    const auto& targets = model.run().facts.targetIndex;
    books.target = targets.empty() ? ledgerText("the target") : model.className(targets.front());
    books.isFinished = model.state().isFinished;
    books.reached = reachedInputs(model);
    addLine(books, LedgerKind::Started, ledgerText("Started at %1").arg(books.target), books.started);
    const Totals totals = totalsUpTo(model);
    const double taken = std::accumulate(totals.causes.begin(), totals.causes.end(), 0.0);
    addCauses(totals, books);
    const double rest = books.started - taken - books.reached;
    books.unexplained = books.isFinished ? rest : totals.unexplained;
    if (!books.isFinished) {
        addLine(books, LedgerKind::OnItsWay, ledgerText("On its way"), rest - books.unexplained);
    }
    addLine(books, LedgerKind::Reached, ledgerText("Reached the input"), books.reached);
    addLine(books, LedgerKind::Unexplained, ledgerText("Unexplained"), books.unexplained);
    return books;
}

LedgerBooks ledgerBooks(const trace::Run& run, const LedgerCurve& curve, const VisitRange& range)
{
    LedgerBooks books;
    if (curve.isEmpty() || range.first >= curve.visitCount()) {
        return books;
    }
    const std::uint32_t end = std::min(range.last + 1, curve.visitCount());
    books.started = curve.started();
    books.part =
        range.first + 1 == end
            ? ledgerText("visit %1").arg(countText(std::int64_t{end}))
            : ledgerText("visits %1 – %2").arg(countText(std::int64_t{range.first} + 1), countText(std::int64_t{end}));
    books.isFinished = end == curve.visitCount() && run.events.back().kind == event::EventKind::Finished;
    books.reached = curve.arrived(end) - curve.arrived(range.first);
    addLine(books, LedgerKind::Started, range.first == 0 ? ledgerText("Started") : ledgerText("On its way before"),
            curve.onItsWay(range.first));
    const Totals totals = totalsIn(run, range);
    addCauses(totals, books);
    const double rest = curve.onItsWay(end);
    books.unexplained = totals.unexplained + (books.isFinished ? rest : 0);
    if (!books.isFinished) {
        addLine(books, LedgerKind::OnItsWay, ledgerText("On its way after"), rest);
    }
    addLine(books, LedgerKind::Reached, ledgerText("Reached the input"), books.reached);
    addLine(books, LedgerKind::Unexplained, ledgerText("Unexplained"), books.unexplained);
    return books;
}

QString booksSentence(const LedgerBooks& books)
{
    if (books.isEmpty()) {
        return {};
    }
    const QString share = percentText(books.lines.front().share);
    QStringList parts{books.part.isEmpty() ? ledgerText("%1 started").arg(share)
                                           : ledgerText("In %1: %2 before").arg(books.part, share)};
    if (books.reached != 0) {
        parts.append(ledgerText("%1 reached the input").arg(percentText(books.reached / books.started)));
    }
    for (const LedgerLine& line : books.lines) {
        const QString words = shortText(line);
        if (!words.isEmpty()) {
            parts.append(words);
        }
    }
    return parts.join(QStringLiteral(", ")) + QLatin1Char('.');
}

} // namespace retro::views
