// SPDX-License-Identifier: Apache-2.0
#include "core/engine/results/runweights.h"

#include "core/execute/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace retro::engine
{

namespace
{

using base::Result;
using base::ValueId;
using tensor::Tensor;

/// How far the same weights may come apart, in parts of the largest element: by rounding alone.
constexpr double kSameWeightsWithin = 1e-3;

bool isSame(const Tensor& then, const Tensor& now)
{
    if (!now.isValid() || now.shape() != then.shape()) {
        return false;
    }
    double apart = 0;
    double largest = 0;
    for (std::int64_t i = 0; i < then.size(); ++i) {
        const double a = then.at(i);
        const double b = now.at(i);
        if (std::isfinite(a) != std::isfinite(b)) {
            return false;
        }
        if (std::isfinite(a)) {
            apart = std::max(apart, std::abs(a - b));
            largest = std::max(largest, std::abs(a));
        }
    }
    return apart <= kSameWeightsWithin * largest;
}

/// Computed values that the run still has, in order of the pass.
std::vector<ValueId> knownOf(const trace::Run& run)
{
    std::vector<ValueId> known;
    for (std::size_t i = 0; i < run.values.size(); ++i) {
        const ValueId value(i);
        if (run.values[i].isValid() && run.graph->value(value).producer.isValid()) {
            known.push_back(value);
        }
    }
    std::ranges::stable_sort(known, {}, [&run](ValueId value) { return run.graph->value(value).producer; });
    return known;
}

} // namespace

base::Error otherModel(const trace::Run& run, std::string_view why)
{
    return base::inputError(fmt::format("the model is not that of the run: {}; name the one that was explained by "
                                        "--model",
                                        why),
                            run.facts.modelName);
}

Result<void> expectWeightsOf(const trace::Run& run, const std::shared_ptr<const execute::BoundModel>& model,
                             std::span<const Tensor> inputs, const std::stop_token& stop)
{
    const std::vector<ValueId> known = knownOf(run);
    if (known.empty()) {
        return {};
    }
    RETRO_TRY(const execute::ForwardResult again,
              execute::forward(model, inputs, execute::SavePolicy::Autograd, stop, {}, known));
    for (const ValueId value : known) {
        if (!isSame(run.values[value.index()], again.value(value))) {
            return otherModel(run, fmt::format("its weights are others, \"{}\" differs", run.graph->value(value).name));
        }
    }
    return {};
}

} // namespace retro::engine
