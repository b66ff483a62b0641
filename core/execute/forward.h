// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/execute/overflow.h"
#include "core/execute/savedvalues.h"

#include <functional>
#include <optional>
#include <stop_token>

namespace retro::execute
{

/// Called after each node with (done, total); at most a few hundred times per run.
using Progress = std::function<void(std::size_t, std::size_t)>;

/// Refuses inputs (one per graph input, in order) that are not of the model's types and shapes. Errors: Input.
[[nodiscard]] base::Result<void> checkInputs(const BoundModel& model, std::span<const Tensor> inputs);

/// What a forward pass leaves behind.
struct ForwardResult
{
    std::vector<Tensor> outputs; ///< per graph output
    SavedValues saved;
    std::shared_ptr<const ValueStore> store; ///< of `saved`
    std::optional<OverflowedValue> overflow; ///< where rounding to the types of the model made something infinite

    /// A graph output, or a value that was kept; invalid for others.
    [[nodiscard]] Tensor value(ValueId id) const;
};

/// Runs the model. `inputs` per graph input, of the model's types and shapes (checked; Input error otherwise). Keeps
/// what `policy` says and the values of `alsoKept` (for anyValue(); no node reads more for it), releases every other
/// value after its last reader. Errors: Input (data that an operator cannot work with, by node), Cancelled.
[[nodiscard]] base::Result<ForwardResult> forward(const std::shared_ptr<const BoundModel>& model,
                                                  std::span<const Tensor> inputs, SavePolicy policy,
                                                  std::stop_token stop = {}, const Progress& progress = {},
                                                  std::span<const ValueId> alsoKept = {});

/// The same for a plan of what is saved; under policy Plan, what it did not keep is computed again when it is asked for
/// (RecomputingStore).
[[nodiscard]] base::Result<ForwardResult> forward(const std::shared_ptr<const BoundModel>& model,
                                                  std::span<const Tensor> inputs, std::shared_ptr<const SavePlan> plan,
                                                  std::stop_token stop = {}, const Progress& progress = {},
                                                  std::span<const ValueId> alsoKept = {});

/// The same into a store of the caller's: it gets `kept` and nothing else (for anyValue(); no node reads what it kept).
[[nodiscard]] base::Result<ForwardResult> forwardInto(std::shared_ptr<ValueStore> store,
                                                      const std::shared_ptr<const BoundModel>& model,
                                                      std::span<const Tensor> inputs, std::span<const ValueId> kept,
                                                      std::stop_token stop = {}, const Progress& progress = {});

/// The same for a plan of what is saved: the store is put what `plan` keeps and what `alsoKept` names, and is asked for
/// what nodes may read by it.
[[nodiscard]] base::Result<ForwardResult>
forwardInto(std::shared_ptr<ValueStore> store, const std::shared_ptr<const BoundModel>& model,
            std::span<const Tensor> inputs, std::shared_ptr<const SavePlan> plan, std::stop_token stop = {},
            const Progress& progress = {}, std::span<const ValueId> alsoKept = {});

} // namespace retro::execute
