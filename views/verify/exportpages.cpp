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

namespace
{

/// Form, bytes kept, whether it is a fallback, reason; empty where the run does not say.
void addDone(TableText& text, const ForwardedTensor* done)
{
    if (done == nullptr) {
        text.add(QString()).add(QString()).add(QString()).add(QString());
        return;
    }
    const std::string_view form = trace::nameOf(done->what.form);
    text.add(QString::fromUtf8(form.data(), static_cast<qsizetype>(form.size()))).add(done->what.kept);
    text.add(done->what.isFallback ? QStringLiteral("yes") : QStringLiteral("no"));
    text.add(QString::fromStdString(done->what.reason));
}

} // namespace

std::string exportStorage(TableFormat format, const PictureTexts& run, const StorageModel& items,
                          const std::function<QString(base::NodeId)>& labelOf)
{
    TableText text(format, "forwarded values", run,
                   {"value", "bytes", "cost", "mark", "form", "kept", "fallback", "reason", "node"});
    for (int row = 0; row < items.rowCount(); ++row) {
        const StorageTensor* tensor = items.tensorAt(row);
        const ForwardedTensor* done = items.forwardedAt(row);
        text.add(items.nameAt(row)).add(items.bytesAt(row)).add(tensor != nullptr ? tensor->cost : 0);
        const bool isRebuilt = tensor != nullptr && items.rebuilt().contains(tensor->id);
        text.add(tensor == nullptr ? QString() : isRebuilt ? QStringLiteral("rebuild") : QStringLiteral("store"));
        addDone(text, done);
        text.add(labelOf(items.nodeAt(row)));
        text.endRow();
    }
    return text.take();
}

} // namespace retro::views
