// SPDX-License-Identifier: Apache-2.0
#include "core/engine/results/runweights.h"

#include "core/execute/forward.h"
#include "core/ops/algebra.h"

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

template <class T>
bool isSameIn(std::span<const T> then, std::span<const T> now)
{
    double apart = 0;
    double largest = 0;
    for (std::size_t i = 0; i < then.size(); ++i) {
        if (std::isfinite(then[i]) != std::isfinite(now[i])) {
            return false;
        }
        if (std::isfinite(then[i])) {
            apart = std::max(apart, std::abs(static_cast<double>(then[i]) - static_cast<double>(now[i])));
            largest = std::max(largest, std::abs(static_cast<double>(then[i])));
        }
    }
    return apart <= kSameWeightsWithin * largest;
}

bool isSame(const Tensor& then, const Tensor& now)
{
    if (!now.isValid() || now.shape() != then.shape()) {
        return false;
    }
    const auto size = static_cast<std::size_t>(then.size());
    if (then.dtype() == tensor::DType::Float32 && now.dtype() == tensor::DType::Float32) {
        const Tensor dense = then.isDense() ? then : then.contiguous();
        const Tensor laid = ops::algebra::laidOutAs(now, dense);
        return isSameIn<float>({dense.data<float>(), size}, {laid.data<float>(), size});
    }
    const Tensor a = then.to(tensor::DType::Float64).contiguous();
    const Tensor b = now.to(tensor::DType::Float64).contiguous();
    return isSameIn<double>({a.data<double>(), size}, {b.data<double>(), size});
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
