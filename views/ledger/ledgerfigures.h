// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"
#include "views/common/run/timerange.h"
#include "views/common/viewcontext.h"
#include "views/ledger/ledgercurve.h"

#include <QString>

#include <vector>

namespace retro::views
{

/// What a line of the ledger is.
enum class LedgerKind : std::uint8_t {
    Started,    ///< what the run began with
    Cause,      ///< taken away (or added) for a known reason
    Others,     ///< several causes that are too small for a line of their own
    OnItsWay,   ///< has not reached the input yet at this step
    Reached,    ///< arrived at the inputs
    Unexplained ///< what the books cannot account for
};

struct LedgerLine
{
    LedgerKind kind = LedgerKind::Cause;
    event::Cause cause = event::Cause::Bias;
    QString name;
    double amount = 0; ///< Started, OnItsWay, Reached: a level; Cause: signed change; Unexplained: what is left
    double share = 0;  ///< of what started; 0 when nothing started
};

/// The books at a step: started + causes = on its way + reached + unexplained.
struct LedgerBooks
{
    std::vector<LedgerLine> lines;
    QString target;
    double started = 0;
    double reached = 0;
    double unexplained = 0;
    bool isFinished = false;
    QString part; ///< of which visits, when not of all up to the cursor: "visits 10 – 20"

    [[nodiscard]] bool isEmpty() const { return lines.empty(); }
};

/// Sums the ledger up to the cursor. Empty when the run was not audited or nothing has started.
[[nodiscard]] LedgerBooks ledgerBooks(const RunModel& model);

/// The books of some visits alone, wherever the cursor is: what was on its way before them, what each cause took in
/// them, what reached the input in them, what was on its way after them. Shares are of what the run started with. Empty
/// when the run was not audited.
[[nodiscard]] LedgerBooks ledgerBooks(const trace::Run& run, const LedgerCurve& curve, const VisitRange& range);

/// "100.0 % started, 97.9 % reached the input, 1.6 % bias, 0.5 % stabiliser."
[[nodiscard]] QString booksSentence(const LedgerBooks& books);

} // namespace retro::views
