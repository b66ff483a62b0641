// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/widgets/tabletext.h"
#include "views/verify/factsheet.h"
#include "views/verify/storagemodel.h"

#include <functional>
#include <string>

namespace retro::views
{

/// What a page is called in a file, and its columns: the same words in every language.
struct PageWords
{
    const char* name = nullptr;
    std::vector<const char*> columns; ///< those of the sheet, in its order
};

/// A page that is a table, with the label of the node that each row is about as its last column.
[[nodiscard]] std::string exportSheet(TableFormat format, const PageWords& words, const PictureTexts& run,
                                      const FactSheet& sheet, const std::function<QString(base::NodeId)>& labelOf);

/// The tensors that a gradient reads: value, bytes, cost, mark (store or rebuild), what the run on screen did (form,
/// bytes kept, whether that is a fallback, reason; empty where it does not say), node.
[[nodiscard]] std::string exportStorage(TableFormat format, const PictureTexts& run, const StorageModel& items,
                                        const std::function<QString(base::NodeId)>& labelOf);

} // namespace retro::views
