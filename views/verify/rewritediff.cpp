// SPDX-License-Identifier: Apache-2.0
#include "views/verify/rewritediff.h"

#include "views/common/numbertext.h"
#include "views/verify/verificationtranslation.h"

#include <algorithm>

namespace retro::views
{

namespace
{

constexpr std::size_t kMostChanges = 5000; // nobody reads more
constexpr qsizetype kMostNamed = 4;        // nodes of a change that a cell names

/// "MatMul fc1 + Add fc1_bias", "… + 5 more".
QString joined(const QStringList& nodes)
{
    if (nodes.isEmpty()) {
        return QStringLiteral("–");
    }
    const QString named = nodes.mid(0, kMostNamed).join(QStringLiteral(" + "));
    return nodes.size() <= kMostNamed ? named
                                      : verificationText("%1 + %2 more").arg(named).arg(nodes.size() - kMostNamed);
}

FactRow rowOf(const RewriteChange& change)
{
    FactRow row;
    row.cells = change.isNote ? QStringList{change.rewrite, verificationText("nothing changed"), change.text}
                              : QStringList{change.rewrite, joined(change.before), joined(change.after)};
    row.role = change.isNote ? Role::Text3 : Role::Text;
    row.node = change.node;
    row.tip = change.text + QStringLiteral("\n− ") + change.before.join(QStringLiteral("\n− ")) +
              QStringLiteral("\n+ ") + change.after.join(QStringLiteral("\n+ "));
    if (change.isNote) {
        row.tip = change.text;
    }
    return row;
}

} // namespace

FactSheet rewritesSheet(const RewriteDiffPointer& diff, const QString& refusal)
{
    FactSheet sheet;
    sheet.columns = {
        {verificationText("Rewrite"), 120}, {verificationText("Before"), 0}, {verificationText("After"), 0}};
    if (!diff) {
        sheet.empty = refusal;
        return sheet;
    }
    const std::size_t listed = std::min(diff->changes.size(), kMostChanges);
    for (std::size_t i = 0; i < listed; ++i) {
        sheet.rows.push_back(rowOf(diff->changes[i]));
    }
    const auto count = [](std::size_t number) { return countText(static_cast<std::int64_t>(number)); };
    sheet.message = verificationText("%1 nodes in the file, %2 in the graph that runs")
                        .arg(count(diff->nodesBefore), count(diff->nodesAfter));
    if (listed < diff->changes.size()) {
        sheet.message +=
            verificationText("; the first %1 of %2 changes").arg(count(listed), count(diff->changes.size()));
    }
    if (sheet.rows.empty()) {
        sheet.empty = verificationText("No rewrite changed anything: the graph that runs is that of the file.");
    }
    return sheet;
}

} // namespace retro::views
