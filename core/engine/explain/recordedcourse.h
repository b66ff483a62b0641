// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/savedvalues.h"
#include "core/lrp/program/programrunner.h"
#include "core/lrp/traversal/handleorigin.h"
#include "core/trace/run.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace retro::engine
{

/// What a recorded pass says of every input that takes the same course: all its events, and what each handle is. Only
/// tensors and amounts are others, and a program makes those. Immutable, shared.
struct RecordedCourse
{
    std::vector<event::Event> events;
    std::vector<std::uint64_t> visitStart;
    std::vector<lrp::HandleOrigin> origins; ///< by HandleId
    std::vector<base::ValueId> values;      ///< forward values that handles are: a forward pass must keep them
};

/// The course of a recorded pass; null when no run can be made from it: tensors were dropped to save memory, or there
/// are more than a million events.
[[nodiscard]] std::shared_ptr<const RecordedCourse> recordedCourse(const trace::Run& run,
                                                                   std::vector<lrp::HandleOrigin> origins);

/// What a program made for an input.
struct ProgramTensors
{
    const lrp::MadeTensors& made;
    std::span<const tensor::Tensor> starts;     ///< per explained value
    const execute::SavedValues& saved;          ///< with RecordedCourse::values
    std::span<const event::LedgerEntry> ledger; ///< a row per rule, then those of inputs
};

/// The run that a traversal of this input would have recorded: events, visits, handles, tensors, ledger. None when a
/// tensor is missing.
[[nodiscard]] std::optional<trace::Run> runOf(const RecordedCourse& course, const ProgramTensors& tensors);

} // namespace retro::engine
