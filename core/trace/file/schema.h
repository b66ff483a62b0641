// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/file/database.h"

#include <array>

// Tables of version 13 of the run file (docs/formats/retro.md). A change here is a new version: readers compare the
// whole statement. Version 12 lacks the last six of kCounted, 5 to 11 the last nine, 4 the last ten, 1 to 3 the last
// eleven, and older ones differ in what rows hold.
namespace retro::trace::file
{

/// "RTRO": SQLite's application_id of a run file.
inline constexpr std::int64_t kApplicationId = 0x5254524f;

inline constexpr Table kGraph{"graph", "name TEXT NOT NULL"};
inline constexpr Table kOpsets{"opsets", "domain TEXT NOT NULL, version INTEGER NOT NULL"};
inline constexpr Table kValues{"graph_values", "name TEXT NOT NULL, kind INTEGER NOT NULL, dtype INTEGER NOT NULL, "
                                               "shape BLOB NOT NULL, tensor INTEGER NOT NULL"};
inline constexpr Table kNodes{"nodes", "op TEXT NOT NULL, domain TEXT NOT NULL, name TEXT NOT NULL, "
                                       "scope TEXT NOT NULL, opset INTEGER NOT NULL, inputs BLOB NOT NULL, "
                                       "outputs BLOB NOT NULL"};
inline constexpr Table kAttributes{"attributes", "node INTEGER NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL"};
inline constexpr Table kOutputs{"outputs", "value INTEGER NOT NULL"};
inline constexpr Table kFacts{"facts", "name TEXT NOT NULL, item TEXT NOT NULL, text TEXT NOT NULL"};
inline constexpr Table kRules{"rules", "rule TEXT NOT NULL, matcher TEXT NOT NULL, structure TEXT NOT NULL"};
inline constexpr Table kShapes{"shapes", "shape BLOB NOT NULL"};
inline constexpr Table kTensors{"tensors", "dtype INTEGER NOT NULL, shape BLOB NOT NULL"};
inline constexpr Table kPieces{"pieces", "tensor INTEGER NOT NULL, data BLOB NOT NULL"};
inline constexpr Table kForward{"forward_values", "value INTEGER NOT NULL, tensor INTEGER NOT NULL"};
inline constexpr Table kHandles{"handles", "records BLOB NOT NULL"};
inline constexpr Table kLedger{"ledger", "records BLOB NOT NULL"};
inline constexpr Table kEvents{"events", "records BLOB NOT NULL"};
inline constexpr Table kBookmarks{"bookmarks", "position INTEGER NOT NULL, text TEXT NOT NULL"};
inline constexpr Table kNotes{"notes", "position INTEGER NOT NULL, subject INTEGER NOT NULL, item INTEGER NOT NULL, "
                                       "text TEXT NOT NULL"};
inline constexpr Table kMetadata{"metadata", "node INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL"};
inline constexpr Table kPlan{"plan", "name TEXT NOT NULL, text TEXT NOT NULL"};
inline constexpr Table kPlanAttempts{"plan_attempts",
                                     "planner TEXT NOT NULL, forward_order TEXT NOT NULL, fits INTEGER NOT NULL, "
                                     "peak INTEGER NOT NULL, cost TEXT NOT NULL, seconds TEXT NOT NULL, "
                                     "refusal TEXT NOT NULL"};
inline constexpr Table kPlanSaving{"plan_saving", "value INTEGER NOT NULL, bytes INTEGER NOT NULL, "
                                                  "step INTEGER NOT NULL, way TEXT NOT NULL, visit INTEGER NOT NULL, "
                                                  "promise INTEGER NOT NULL, nodes TEXT NOT NULL"};
inline constexpr Table kRegion{"region", "kind TEXT NOT NULL, value INTEGER NOT NULL, tensor INTEGER NOT NULL, "
                                         "text TEXT NOT NULL"};
inline constexpr Table kProfile{"profile", "node INTEGER NOT NULL, half INTEGER NOT NULL, repeated INTEGER NOT NULL, "
                                           "begins TEXT NOT NULL, seconds TEXT NOT NULL, flops TEXT NOT NULL, "
                                           "bytes INTEGER NOT NULL, step INTEGER NOT NULL"};
inline constexpr Table kDecisions{"decisions", "value INTEGER NOT NULL, choice INTEGER NOT NULL, "
                                               "bytes INTEGER NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL, "
                                               "step INTEGER NOT NULL"};
inline constexpr Table kText{"text", "name TEXT NOT NULL, step INTEGER NOT NULL, item INTEGER NOT NULL, "
                                     "text TEXT NOT NULL"};
inline constexpr Table kTextTokens{"text_tokens", "token INTEGER NOT NULL, begin INTEGER NOT NULL, "
                                                  "end INTEGER NOT NULL, text TEXT NOT NULL"};
inline constexpr Table kTextSteps{"text_steps", "position INTEGER NOT NULL, relevance INTEGER NOT NULL, "
                                                "layers INTEGER NOT NULL, heads INTEGER NOT NULL, "
                                                "places INTEGER NOT NULL, handed INTEGER NOT NULL"};
/// How many rows each of the others has, in the order of kCounted.
inline constexpr Table kContents{"contents", "name TEXT NOT NULL, rows INTEGER NOT NULL"};

inline constexpr std::array<const Table*, 27> kCounted{
    &kGraph,  &kOpsets,    &kValues,    &kNodes,    &kAttributes, &kOutputs,      &kFacts,
    &kRules,  &kShapes,    &kTensors,   &kPieces,   &kForward,    &kHandles,      &kLedger,
    &kEvents, &kBookmarks, &kNotes,     &kMetadata, &kPlan,       &kPlanAttempts, &kPlanSaving,
    &kRegion, &kProfile,   &kDecisions, &kText,     &kTextTokens, &kTextSteps};
/// How many of them a file of this version has.
[[nodiscard]] constexpr std::size_t countedOf(std::int64_t version)
{
    return kCounted.size() - (version < 4 ? 11 : version < 5 ? 10 : version < 12 ? 9 : version < 13 ? 6 : 0);
}

/// Rows of each table, by position in kCounted.
using RowCounts = std::array<std::int64_t, kCounted.size()>;

/// Position of a table in kCounted.
[[nodiscard]] constexpr std::size_t positionOf(const Table& table)
{
    for (std::size_t i = 0; i < kCounted.size(); ++i) {
        if (kCounted[i]->name == table.name) {
            return i;
        }
    }
    return kCounted.size();
}

/// Tensors above this size are written in pieces of this size.
inline constexpr std::size_t kPieceBytes = 16U << 20;
/// Constants of at most this many bytes are written; of larger ones only type and shape.
inline constexpr std::int64_t kSmallConstantBytes = 4096;
/// The same for what a table lookup reads (anchors, rows, codes, synapses): its views show them.
inline constexpr std::int64_t kTableConstantBytes = std::int64_t{64} << 20;

} // namespace retro::trace::file
