// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/runstate.h"

#include <functional>
#include <vector>

namespace retro::trace
{

/// Follows the state of a run from its start and tells which tensors come into the frontier and which leave it. An
/// event changes that for few tensors: the one that it names, those of the branches that it names, and, when a promise
/// is fulfilled, all that it held. The run must be one that a Timeline opens, and must outlive the walk.
class FrontierWalk
{
public:
    explicit FrontierWalk(const Run& run) : m_run(run), m_state(run), m_isMember(run.handles.size(), 0) {}

    /// Applies the next event; then each tensor that has come or gone is told.
    void apply(std::uint64_t step, const std::function<void(HandleId, bool isMember)>& changed);
    [[nodiscard]] const RunState& state() const { return m_state; }

private:
    void touch(HandleId handle);
    void touchBranch(std::uint32_t promise, std::uint32_t branch);
    void touchPromise(const PromiseState& promise);
    void touch(const Event& event);

    const Run& m_run;
    RunState m_state;
    std::vector<std::uint8_t> m_isMember; ///< by handle
    std::vector<HandleId> m_touched;
};

} // namespace retro::trace
