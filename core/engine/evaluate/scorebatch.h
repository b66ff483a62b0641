// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/evaluate/subject.h"
#include "core/engine/model/binding.h"

#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

namespace retro::engine
{

/// What a batch of forward passes is made of.
struct BatchedModel
{
    LoadedModelPointer model;
    std::shared_ptr<const execute::BoundModel> single; ///< bound for one sample
    std::vector<tensor::Tensor> inputs;                ///< of one sample, per graph input
    std::size_t at = 0;                                ///< of the input that changes
    base::ValueId value;                               ///< of the target, in `single`
    BindOptions wish;
    std::stop_token stop;
};

/// Forward passes of several inputs at once. Where the model does not take them together, or its samples change each
/// other (which the first batch shows), they go through one by one. Used by one thread.
class ScoreBatch
{
public:
    using Input = std::function<tensor::Tensor(std::size_t)>;
    using Score = std::function<base::Result<double>(const tensor::Tensor&)>;

    explicit ScoreBatch(BatchedModel batched) : m_of(std::move(batched)) {}

    /// Scores of input(0) … input(count − 1): `one` is asked for that of an input, `ofRow` for that of the target's
    /// value at one sample. Errors: those of the passes.
    [[nodiscard]] base::Result<std::vector<double>> scores(std::size_t count, const Input& input, const Score& one,
                                                           const Score& ofRow, const EvaluationProgress& progress);

private:
    [[nodiscard]] bool isBatched(std::size_t input) const;
    [[nodiscard]] base::Result<void> bind();
    [[nodiscard]] base::Result<std::vector<double>> next(const std::vector<tensor::Tensor>& inputs, const Score& one,
                                                         const Score& ofRow);
    [[nodiscard]] base::Result<std::vector<double>> together(const std::vector<tensor::Tensor>& inputs,
                                                             const Score& ofRow) const;

    BatchedModel m_of;
    std::shared_ptr<const execute::BoundModel> m_model; // for m_rows samples; null: one by one
    base::ValueId m_value;
    std::size_t m_rows = 1;
    bool m_isTried = false;
    bool m_isChecked = false;
};

} // namespace retro::engine
