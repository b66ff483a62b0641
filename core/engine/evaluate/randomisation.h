// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/evaluate/attribution.h"
#include "core/engine/evaluate/flipping.h"
#include "core/tensor/tensor.h"

#include <vector>

namespace retro::engine
{

/// How alike two attributions of equal shape are.
struct Similarity
{
    double cosine = 0;   ///< of the numbers; 0 when one of them is zero everywhere
    double spearman = 0; ///< of their ranks, ties at their mean rank; 0 when one of them is constant
};

/// Both measures.
[[nodiscard]] Similarity similarity(const tensor::Tensor& a, const tensor::Tensor& b);

/// A stage of top-down randomisation.
struct RandomisationStage
{
    std::string layer;      ///< the last node whose weights were shuffled
    std::size_t layers = 0; ///< how many were, from the output
    Similarity similarity;  ///< to the attribution of the model as it is
};

/// A model whose weights (constants of rank 2 and more) that the last `layers` nodes read are shuffled, each within
/// itself: values stay, what was learnt goes. Seeded per weight, so that a further stage keeps the earlier ones.
/// Errors: those of rewriting.
[[nodiscard]] base::Result<LoadedModelPointer> withShuffledLayers(const LoadedModel& model, std::size_t layers,
                                                                  std::uint64_t seed);
/// Names of the nodes whose weights can be shuffled, from the output to the input.
[[nodiscard]] std::vector<std::string> shufflableLayers(const LoadedModel& model);

/// Top-down randomisation (Adebayo et al. 2018): shuffles layer after layer from the output and compares the
/// attribution with the original one, at no more than `most` stages spread over all layers. A method that does not
/// notice looks at the input alone.
[[nodiscard]] base::Result<std::vector<RandomisationStage>>
randomiseTopDown(const LoadedModel& model, const Subject& subject, const Units& units, const Attribution& method,
                 const tensor::Tensor& original, std::size_t most, std::uint64_t seed,
                 const EvaluationProgress& progress = {});

} // namespace retro::engine
