// SPDX-License-Identifier: Apache-2.0
#include "views/verify/exportpages.h"

namespace retro::views
{

std::string exportSheet(TableFormat format, const PageWords& words, const PictureTexts& run, const FactSheet& sheet,
                        const std::function<QString(base::NodeId)>& labelOf)
{
    std::vector<const char*> columns = words.columns;
    columns.push_back("node");
    TableText text(format, words.name, run, columns);
    for (const FactRow& row : sheet.rows) {
        for (std::size_t column = 0; column < words.columns.size(); ++column) {
            text.add(row.cells.value(static_cast<qsizetype>(column)));
        }
        text.add(labelOf(row.node));
        text.endRow();
    }
    return text.take();
}

std::string exportStorage(TableFormat format, const PictureTexts& run, const StorageModel& items,
                          const std::function<QString(base::NodeId)>& labelOf)
{
    TableText text(format, "forwarded values", run,
                   {"value", "bytes", "cost", "mark", "form", "kept", "fallback", "reason", "node"});
    for (int row = 0; row < items.rowCount(); ++row) {
        const StorageTensor* tensor = items.tensorAt(row);
        const ForwardedTensor* done = items.forwardedAt(row);
        const bool isRebuilt = tensor != nullptr && items.rebuilt().contains(tensor->id);
        text.cells(items.nameAt(row), items.bytesAt(row), tensor != nullptr ? tensor->cost : 0,
                   tensor == nullptr ? ""
                   : isRebuilt       ? "rebuild"
                                     : "store");
        if (done != nullptr) {
            text.cells(trace::nameOf(done->what.form), done->what.kept, done->what.isFallback ? "yes" : "no",
                       done->what.reason);
        } else {
            text.cells("", "", "", ""); // the run does not say
        }
        text.row(labelOf(items.nodeAt(row)));
    }
    return text.take();
}

} // namespace retro::views
