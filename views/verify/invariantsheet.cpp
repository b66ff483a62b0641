// SPDX-License-Identifier: Apache-2.0
#include "views/common/numbertext.h"
#include "views/verify/propertywords.h"
#include "views/verify/stepchecks.h"
#include "views/verify/stepsheets.h"
#include "views/verify/verificationtranslation.h"

#include <algorithm>
#include <array>

namespace retro::views
{

namespace
{

struct InvariantWords
{
    Invariant invariant;
    const char* says;
    const char* checked; ///< what is counted
    const char* breach;  ///< %1 = node, %2 = where it came from
    const char* unknown; ///< why a run cannot say; null where every run can
};

constexpr std::array kInvariantWords{
    InvariantWords{Invariant::Earlier, RETRO_VERIFICATION("Contributions go only to earlier nodes"),
                   RETRO_VERIFICATION("%1 parts have landed"),
                   RETRO_VERIFICATION("a part of %2 landed at %1, which is not earlier"), nullptr},
    InvariantWords{Invariant::Declared, RETRO_VERIFICATION("Contributions go only to operands"),
                   RETRO_VERIFICATION("%1 parts have landed"),
                   RETRO_VERIFICATION("a part of %2 landed at %1, which it does not read"), nullptr},
    InvariantWords{Invariant::Leaves, RETRO_VERIFICATION("Inputs send nothing"),
                   RETRO_VERIFICATION("%1 parts have landed"), RETRO_VERIFICATION("the input %2 sent something"),
                   nullptr},
    InvariantWords{Invariant::Shapes, RETRO_VERIFICATION("What arrives has the shape of the value"),
                   RETRO_VERIFICATION("%1 parts have landed"),
                   RETRO_VERIFICATION("what arrived at %1 has another shape than its value"), nullptr},
    InvariantWords{Invariant::Places, RETRO_VERIFICATION("The places of a slot stay the same"),
                   RETRO_VERIFICATION("%1 parts have landed"), RETRO_VERIFICATION("the places of %1 became others"),
                   nullptr},
    InvariantWords{Invariant::OncePerPlace, RETRO_VERIFICATION("Each use of a value gives one part"),
                   RETRO_VERIFICATION("%1 parts have landed"),
                   RETRO_VERIFICATION("%1 got a second part from %2 in one place"), nullptr},
    InvariantWords{Invariant::Joined, RETRO_VERIFICATION("Uses of a value by one node are added first"),
                   RETRO_VERIFICATION("%1 parts have landed"),
                   RETRO_VERIFICATION("the uses of %1 by %2 are not added first"),
                   RETRO_VERIFICATION("this run adds its parts one by one")},
    InvariantWords{Invariant::Final, RETRO_VERIFICATION("Nothing lands where the rule has run"),
                   RETRO_VERIFICATION("%1 parts have landed"),
                   RETRO_VERIFICATION("a part of %2 landed at %1 after its rule"), nullptr},
    InvariantWords{Invariant::Untracked, RETRO_VERIFICATION("Where nothing is carried, nothing lands"),
                   RETRO_VERIFICATION("%1 parts have landed"),
                   RETRO_VERIFICATION("%1 passes nothing on, and got something"),
                   RETRO_VERIFICATION("the run does not say which rules it has")},
    InvariantWords{Invariant::Writes, RETRO_VERIFICATION("A slot is written once per place"),
                   RETRO_VERIFICATION("%1 parts have landed"),
                   RETRO_VERIFICATION("%1 was written more often than it has places"), nullptr},
    InvariantWords{Invariant::OneRule, RETRO_VERIFICATION("The rule of a node runs once"),
                   RETRO_VERIFICATION("%1 rules have run"), RETRO_VERIFICATION("the rule of %1 ran twice"), nullptr},
    InvariantWords{Invariant::KnownOnce, RETRO_VERIFICATION("What arrived at a value is known once"),
                   RETRO_VERIFICATION("%1 values are known in full"), RETRO_VERIFICATION("%1 was known twice"),
                   nullptr},
    InvariantWords{Invariant::ZeroKept, RETRO_VERIFICATION("A rule makes nothing of zeros"),
                   RETRO_VERIFICATION("%1 rules are booked"),
                   RETRO_VERIFICATION("zeros arrived at %1, and it handed on more"),
                   RETRO_VERIFICATION("the run has no ledger")},
    InvariantWords{Invariant::Balance, RETRO_VERIFICATION("The books of every rule balance"),
                   RETRO_VERIFICATION("%1 rules are booked"), RETRO_VERIFICATION("%1 leaves relevance unexplained"),
                   RETRO_VERIFICATION("a gradient is not conserved, or the run has no ledger")}};
static_assert(kInvariantWords.size() == kInvariants);

/// Properties that no event of a run can tell: they need the tape. Verify compiles one.
constexpr std::array kByVerify{"P1", "P5", "P6"};

QString labelOf(const RunModel& model, base::NodeId node)
{
    const bool isThere = node.isValid() && node.index() < model.graph().runNodeCount();
    return isThere ? model.label(node) : QString();
}

QString soFar(const RunModel& model, const StepChecks& checks, const InvariantWords& words)
{
    const std::uint64_t now = model.position();
    if (words.invariant == Invariant::Writes) {
        if (const StepChecks::Most* most = checks.mostWrites(now)) {
            return verificationText("most writes into one slot: %1, at %2")
                .arg(countText(std::int64_t{most->count}), labelOf(model, most->node));
        }
    }
    return verificationText(words.checked)
        .arg(countText(static_cast<std::int64_t>(checks.checked(words.invariant, now))));
}

FactRow verdictRow(Verdict verdict, const QString& says, const QString& detail)
{
    FactRow row;
    row.role = roleOf(verdict);
    row.isStrong = verdict == Verdict::Violated;
    row.cells = {signOf(verdict) + QStringLiteral("  ") + wordOf(verdict), says, detail};
    row.tip = row.cells.mid(1).join(QLatin1Char('\n'));
    return row;
}

FactRow rowOf(const RunModel& model, const StepChecks& checks, const InvariantWords& words)
{
    const QString says = verificationText(words.says);
    if (!checks.isKnown(words.invariant)) {
        return verdictRow(Verdict::NotApplicable, says, verificationText(words.unknown));
    }
    const StepChecks::Breach* breach = checks.firstBreach(words.invariant, model.position());
    if (breach == nullptr) {
        return verdictRow(Verdict::Held, says, soFar(model, checks, words));
    }
    QString detail = verificationText(words.breach).replace(QStringLiteral("%1"), labelOf(model, breach->node));
    FactRow row =
        verdictRow(Verdict::Violated, says, detail.replace(QStringLiteral("%2"), labelOf(model, breach->other)));
    row.node = breach->node;
    row.position = breach->step + 1;
    return row;
}

/// A property that Verify checks: what it found, or that it has to be asked.
FactRow verifiedRow(const char* id, const VerificationPointer& verification)
{
    CheckedProperty property{QString::fromLatin1(id), {}, Verdict::NotApplicable, {}, {}};
    bool isChecked = false;
    if (verification) {
        const auto& all = verification->properties;
        const auto found = std::ranges::find(all, property.id, &CheckedProperty::id);
        isChecked = found != all.end();
        property = isChecked ? *found : property;
    }
    FactRow row = verdictRow(property.verdict, plainWords(property),
                             isChecked ? verificationText("by Verify: %1").arg(property.detail)
                                       : verificationText("no event tells it; Verify checks it on the tape"));
    if (!isChecked) {
        row.cells.front() = verificationText("–  by Verify");
    }
    row.node = property.node;
    return row;
}

} // namespace

FactSheet invariantsSheet(const RunModel& model, const VerificationPointer& verification)
{
    FactSheet sheet;
    sheet.columns = {{verificationText("Verdict"), 118},
                     {verificationText("What must hold at this step"), 300},
                     {verificationText("So far"), 0}};
    const auto checks = model.derived<StepChecks>();
    std::size_t violated = 0;
    for (const InvariantWords& words : kInvariantWords) {
        sheet.rows.push_back(rowOf(model, *checks, words));
        violated += sheet.rows.back().isStrong ? 1 : 0;
    }
    for (const char* id : kByVerify) {
        sheet.rows.push_back(verifiedRow(id, verification));
    }
    sheet.message = violated == 0 ? verificationText("Nothing is broken up to this step")
                                  : verificationText("%1 broken; a double click goes to the first step").arg(violated);
    sheet.role = violated == 0 ? Role::Text2 : Role::AlarmText;
    return sheet;
}

} // namespace retro::views
