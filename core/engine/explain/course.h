// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/programcache.h"
#include "core/event/sink.h"
#include "core/program/firstpass.h"

#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// Keeps ledger rows and what a program is made from.
class CourseSink final : public event::Sink
{
public:
    explicit CourseSink(const graph::Graph& graph) : pass(graph) {}
    void onEvent(const event::Event& event) override
    {
        if (const base::Result<void> taken = pass.take(event); !taken && fault.empty()) {
            fault = taken.error().text();
        }
        if (event.kind == event::EventKind::Snapshot) {
            snapshots.push_back(event);
        }
    }
    void onLedger(const event::LedgerEntry& entry) override { rows.push_back(entry); }
    void onTensor(base::HandleId, const tensor::Tensor&) override {}
    program::FirstPass pass;
    std::vector<event::LedgerEntry> rows;
    std::vector<event::Event> snapshots;
    std::string fault;
};

/// The number that programs of a course carry (trace::courseKey): equal for equal graphs, shapes, rules, savings,
/// targets and checkpoints. Made once per course; the cache keeps it.
[[nodiscard]] base::Hash128 keyOf(const CourseOf& course, ProgramCache& cache);

/// A first pass that has ended, and what it ran on.
struct FinishedPass
{
    const CourseSink& sink;
    const Prepared& prepared;
    execute::SavePolicy save;
    const execute::SavedValues& saved;
    std::span<const base::ValueId> targets;
    std::span<const tensor::Tensor> starts;    ///< per target
    std::span<const tensor::Tensor> relevance; ///< by ValueId: what it gave
    base::Hash128 key;
};

/// Makes the program of a pass and runs it on the same values; it goes into `course` when the relevance of every value
/// has the bits of the pass, else `course.fault` says where they part. Returns the seconds that the run took. Errors:
/// Cancelled.
[[nodiscard]] base::Result<double> makeProgram(const FinishedPass& pass, Course& course, const std::stop_token& stop);

/// The course of passes from `targets`, found without a value being computed: its program is that of such a pass, but
/// nothing was compared (Course::isChecked). Errors: Bug (a traversal that does not end), Cancelled.
[[nodiscard]] base::Result<std::shared_ptr<const Course>>
courseAhead(const Prepared& prepared, execute::SavePolicy save, const lrp::TraversalGraph& graph,
            std::span<const base::ValueId> targets, base::Hash128 key, const std::stop_token& stop);

} // namespace retro::engine
