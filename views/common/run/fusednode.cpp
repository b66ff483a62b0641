// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/fusednode.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>

namespace retro::views
{

const FusedNode* findFused(const FusedNodesPointer& fused, base::NodeId node)
{
    if (!fused) {
        return nullptr;
    }
    const auto at = std::find_if(fused->begin(), fused->end(), [&](const FusedNode& one) { return one.node == node; });
    return at == fused->end() ? nullptr : &*at;
}

int memberCount(const FusedNode& fused)
{
    return static_cast<int>(std::count_if(fused.members.begin(), fused.members.end(),
                                          [](const FusedMember& member) { return !member.op.isEmpty(); }));
}

QString membersText(const FusedNode& fused, int most)
{
    QStringList ops;
    for (const FusedMember& member : fused.members) {
        if (!member.op.isEmpty()) {
            ops << member.op;
        }
    }
    const auto count = static_cast<int>(ops.size());
    if (count > most) {
        ops = ops.mid(0, most) << QStringLiteral("…");
    }
    const char* words = fused.isComposed ? QT_TRANSLATE_NOOP("retro::views::FusedNode", "%1 steps: %2")
                                         : QT_TRANSLATE_NOOP("retro::views::FusedNode", "%1 nodes: %2");
    return QCoreApplication::translate("retro::views::FusedNode", words).arg(count).arg(ops.join(QStringLiteral(", ")));
}

} // namespace retro::views
