// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"
#include "core/execute/forward.h"

#include <memory>

namespace retro::diagnosis
{

/// A node that does many steps in one, run once more step by step on the forward values of the pass.
struct OpenedForward
{
    std::shared_ptr<const execute::BoundModel> model; ///< of the steps
    execute::ForwardResult forward;

    [[nodiscard]] const graph::Graph& graph() const { return model->graph(); }
    /// A value of graph(), constants too.
    [[nodiscard]] Tensor value(ValueId value) const;
};

/// Of a node of the pass that a rewrite made of several (its steps have their names of the file), or whose operator has
/// a body (LSTM, GRU, Attention). Null where it has no steps, or where they cannot be run.
[[nodiscard]] std::shared_ptr<const OpenedForward> openedForward(const Facts& facts, NodeId node);

} // namespace retro::diagnosis
