// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/programcache.h"
#include "core/engine/ways/promise.h"
#include "core/event/sink.h"
#include "core/program/firstpass.h"

#include <memory>
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

/// What is known of the course that a pass will take, before its forward pass.
struct KnownCourse
{
    base::Hash128 key;
    std::shared_ptr<const Course> course;       ///< null: nothing is known
    std::shared_ptr<lrp::ProgramRunner> runner; ///< its program; null: there is none that gives what is asked
};
/// Looks it up; `isForInputs`: for the relevance of inputs alone, also made ahead, without a pass. Errors: Usage (no
/// checkpoint to stop at), Bug, Cancelled.
[[nodiscard]] base::Result<KnownCourse> knownCourse(Pass& pass, bool isForInputs);
/// What the result says of a pass that a program carried.
void takeProgram(const Course& course, Pass& pass);

/// The program of a first pass of the same course. Where there is none yet, a traversal with promises is that first
/// pass, and leaves its program to the next one.
class ProgramWay final : public PromiseWay
{
public:
    explicit ProgramWay(KnownCourse known) : m_known(std::move(known)) {}

    [[nodiscard]] ForwardNeed needs(const Pass& pass) const override;
    base::Result<void> run(Pass& pass) override;

private:
    /// True when it gave all that was asked.
    base::Result<bool> runProgram(Pass& pass);
    base::Result<void> firstPass(Pass& pass, const lrp::TraversalGraph& graph);
    void keepRecording(const Pass& pass);

    KnownCourse m_known;
};

} // namespace retro::engine
