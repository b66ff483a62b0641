// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/explainer/relevancesteps.h"
#include "core/execute/boundmodel.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

namespace retro::engine
{

/// A model bound to several numbers of samples, where the first axis of inputs alone is free. What a rule writes at
/// each of them tells how its constants follow from the number of samples.
class SampleBindings
{
public:
    /// Writes nodes that read `operands` (in the order of the values that were named) for a binding of the model.
    using Write = std::function<base::Result<std::vector<ValueId>>(
        tape::Emitter& emit, const execute::BoundModel& model, const std::vector<ValueId>& operands)>;

    /// `model` is bound to 2 samples. `samples` is an input of the graph that is built whose first axis is theirs.
    SampleBindings(const execute::BoundModel& model, ValueId samples, std::stop_token stop)
        : m_model(model), m_samples(samples), m_stop(std::move(stop))
    {}

    /// True when no axis but the first of inputs is free.
    [[nodiscard]] static bool apply(const graph::Graph& graph);

    /// The nodes that `write` writes, with its constants computed from the number of samples where they follow from
    /// it: each whole number as a·N + b, which another number of samples must confirm. No values where they do not
    /// follow in that way. Errors: of `write`, of binding.
    [[nodiscard]] base::Result<std::vector<ValueId>> write(RelevanceSteps& steps, const std::vector<ValueId>& operands,
                                                           const std::vector<tensor::DType>& types, const Write& write);

private:
    static constexpr std::array<std::int64_t, 2> kMore{3, 5}; ///< samples that are tried beside 2
    [[nodiscard]] base::Result<void> bind();
    ValueId count(RelevanceSteps& steps);

    const execute::BoundModel& m_model;
    ValueId m_samples;
    std::stop_token m_stop;
    std::vector<std::shared_ptr<const execute::BoundModel>> m_more;
    ValueId m_count; ///< the number of samples, [1]
};

} // namespace retro::engine
