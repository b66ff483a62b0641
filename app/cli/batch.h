// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/engine/results/batch.h"
#include "core/rows/rowfile.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace retro::app
{

/// How a batch is explained.
struct BatchPlan
{
    std::vector<engine::BatchItem> items;
    engine::Shard shard;
    int jobs = 1;
    std::filesystem::path folder;  ///< results of an item go to folder/stem; empty: to no folder
    std::string question;          ///< summary.json of an item that is complete has this one
    const graph::Graph& graph;     ///< whose inputs the items are for
    rows::RowFile* rows = nullptr; ///< results of all items go there as well, a row per sample
};

/// Explains every item of the shard that is not complete yet, then writes folder/index.csv over all complete items and
/// those that failed here. An item is complete when its summary.json is there and answers this question, from the files
/// as they are now; where there is a file of rows, its row as well. With several jobs, as many processes of this
/// program share the items. A failing item does not stop the others. Errors: those of writing; Input when items failed.
[[nodiscard]] base::Result<void>
explainBatch(const Context& context, const BatchPlan& plan,
             const std::function<base::Result<void>(const engine::BatchItem&)>& explain);

} // namespace retro::app
