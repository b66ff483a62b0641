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
    TableText text(format, "forwarded values", run, {"value", "bytes", "cost", "form", "node"});
    for (int row = 0; row < items.rowCount(); ++row) {
        const StorageTensor& tensor = items.at(row);
        text.add(tensor.name).add(static_cast<std::int64_t>(tensor.bytes)).add(tensor.cost);
        text.add(items.rebuilt().contains(tensor.id) ? QStringLiteral("rebuild") : QStringLiteral("store"));
        text.add(labelOf(tensor.node));
        text.endRow();
    }
    return text.take();
}

} // namespace retro::views
