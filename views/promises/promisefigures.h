// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/timeline.h"
#include "views/promises/promiseforest.h"

#include <QString>

#include <cstdint>
#include <optional>

namespace retro::views
{

/// How long a row of the promise tree has waited: from the event that asked to the one that answered, or, while there
/// is no answer, to the last event before the position.
struct PromiseAge
{
    std::uint64_t from = 0; ///< step
    std::uint64_t to = 0;   ///< step
    bool isAnswered = false;

    [[nodiscard]] std::uint64_t events() const { return to - from; }
    /// Visits between the two; 0 within one visit.
    [[nodiscard]] std::uint32_t visits(const trace::Run& run) const { return run.visitOf(to) - run.visitOf(from); }
};

/// A promise is asked for when it is opened, a branch that feeds no promise (yet) when the promise above is. Nothing
/// before that.
[[nodiscard]] std::optional<PromiseAge> ageOf(const PromiseForest& forest, const PromiseRow& row,
                                              std::uint64_t position);

/// The same of a promise by itself.
[[nodiscard]] std::optional<PromiseAge> ageOf(const PromiseFacts& facts, std::uint64_t position);

/// Shape of what the row is about, without a leading batch of 1 ("4×24×24"): the output that a promise collects
/// relevance for, the operand of a branch once it is found; else empty.
[[nodiscard]] QString shapeText(const trace::Run& run, const PromiseForest& forest, const PromiseRow& row,
                                std::uint64_t position);

[[nodiscard]] QString shapeText(const trace::Run& run, const PromiseFacts& facts);

/// Bytes of the tensors that a promise keeps in the frontier (trace::RunState): operands found and relevance collected
/// until it is fulfilled, relevance of its branches until somebody takes it. A tensor that two promises keep counts for
/// both.
[[nodiscard]] std::int64_t heldBytes(const trace::Run& run, const trace::PromiseState& promise);

} // namespace retro::views
