// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/file/schema.h"
#include "core/trace/file/tensortable.h"
#include "core/trace/notes.h"
#include "core/trace/run.h"
#include "core/trace/runplan.h"
#include "core/trace/runregion.h"
#include "core/trace/runtext.h"

namespace retro::trace::file
{

/// Facts, rules, shapes and bookmarks: small tables, one row per item. Errors: Output.
[[nodiscard]] base::Result<void> writeSmallTables(Database& database, const Run& run, RowCounts& counts);
/// Reads them into `run`, whose graph must be there. Errors: Input.
[[nodiscard]] base::Result<void> readSmallTables(Database& database, const RowCounts& counts, Run& run);

/// What somebody wrote about places of the run. Errors: Output.
[[nodiscard]] base::Result<void> writeNotes(Database& database, std::span<const Note> notes, RowCounts& counts);
/// Reads them; `run` must have its graph and events. Errors (Input): a place or thing that is not in the run, too many,
/// too long.
[[nodiscard]] base::Result<std::vector<Note>> readNotes(Database& database, const RowCounts& counts, const Run& run);

/// The plan of the run, what planners reached and how dropped values came back. Errors: Output.
[[nodiscard]] base::Result<void> writePlan(Database& database, const RunPlan* plan, RowCounts& counts);
/// Reads it; `run` must have its graph and visits. Null where there is none. Errors (Input): a value, node or visit
/// that is not there.
[[nodiscard]] base::Result<std::shared_ptr<const RunPlan>> readPlan(Database& database, const RowCounts& counts,
                                                                    const Run& run);

/// The region that was asked of the run; null = none. Errors: Output.
[[nodiscard]] base::Result<void> writeRegion(Database& database, const Run& run, const RunRegion* region,
                                             TensorPool& pool, RowCounts& counts);
/// Reads it; `run` must have its graph and shapes. Null where there is none. Errors (Input): a tensor that does not fit
/// its value.
[[nodiscard]] base::Result<std::shared_ptr<const RunRegion>>
readRegion(Database& database, const RowCounts& counts, const std::vector<Tensor>& tensors, const Run& run);
/// What the pass spent and decided; no rows where nobody took it. Errors: Output.
[[nodiscard]] base::Result<void> writeProfile(Database& database, const Run& run, RowCounts& counts);
/// Reads it into `run`, which must have its graph and events. Errors (Input): a node, value, step or number that cannot
/// be.
[[nodiscard]] base::Result<void> readProfile(Database& database, const RowCounts& counts, Run& run);
/// The text of the run: tokens, and each explained position with its matrices as rows of the pool. Errors: Output.
[[nodiscard]] base::Result<void> writeText(Database& database, const RunText* text, TensorPool& pool,
                                           RowCounts& counts);
/// Reads it; `run` must have its graph. Null where there is none. Errors (Input): a value or token that is not there,
/// matrices of other extents than the tokens and layers have.
[[nodiscard]] base::Result<std::shared_ptr<const RunText>> readText(Database& database, const RowCounts& counts,
                                                                    const std::vector<Tensor>& tensors, const Run& run);
/// Whether it keeps the limits of a file.
[[nodiscard]] bool isReadable(const RunText& text);

/// Forward values as rows of the pool. Values of constants belong to the graph and are left out.
[[nodiscard]] base::Result<void> writeForwardValues(Database& database, const Run& run, TensorPool& pool,
                                                    RowCounts& counts);
[[nodiscard]] base::Result<void> readForwardValues(Database& database, const RowCounts& counts,
                                                   const std::vector<Tensor>& tensors, Run& run);

/// Events, ledger and handles: kChunkRecords records per row. Errors: Output, Cancelled.
[[nodiscard]] base::Result<void> writeChunks(Database& database, const Run& run, TensorPool& pool, RowCounts& counts,
                                             const std::stop_token& stop);
/// Reads them, of a file of this version, into `run`, whose graph must be there; finds the visits; checks every index
/// of every record against graph, handles, promises and ledger. Errors: Input.
[[nodiscard]] base::Result<void> readChunks(Database& database, std::int64_t version, const RowCounts& counts,
                                            const std::vector<Tensor>& tensors, Run& run);

} // namespace retro::trace::file
