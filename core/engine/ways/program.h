// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/course.h"
#include "core/engine/ways/promise.h"

#include <memory>

namespace retro::engine
{

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
