// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/explain/explain.h"
#include "core/engine/language/residualstreams.h"
#include "core/execute/forward.h"
#include "core/trace/runtext.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace retro::engine
{

/// Takes the map of a layer: heads × queries × keys, float64, the relevance that each token (query) handed to each
/// token (key) through this attention: Σ over the width of p · v · R / y, of probabilities p, values v, mixed values y
/// and their relevance R. Summed over the keys it is the relevance of the head at the query (headRelevance()), where y
/// is not 0. An error ends everything.
using TakeAttention = std::function<base::Result<void>(std::size_t layer, const tensor::Tensor& map)>;

/// Numbers of all maps of the given layers (empty = all): layers × heads × tokens². What is asked of attentionMaps()
/// costs a multiple of it by the width of the heads.
[[nodiscard]] double attentionNumbers(const ResidualStreams& streams, const execute::BoundModel& model);

/// Forward values that attentionMaps() had to make once more: for the next question about the same pass.
struct RemadeValues
{
    std::shared_ptr<const execute::BoundModel> model;
    std::optional<execute::ForwardResult> forward;
};

/// Works out the maps of attentions, one after the other, of row 0 of the batch. Forward values that the result does
/// not hold are made once more by a forward pass that keeps nothing else; `remade` (null = none) holds those of another
/// question about the same inputs, and takes them. `layers` are numbers from 0 (empty = all).
/// Keys of a past in front of the text are left out. Errors: Usage (a layer that is not there), Input (an attention
/// that cannot be taken apart), Cancelled; those of `take`.
[[nodiscard]] base::Result<void> attentionMaps(const ResidualStreams& streams, const ExplainRequest& request,
                                               const ExplainResult& result, std::span<const std::size_t> layers,
                                               const TakeAttention& take, const std::stop_token& stop = {},
                                               RemadeValues* remade = nullptr);

/// Adds the largest links of a map, at most `most`, the largest first; those of relevance 0 are none.
void addLinks(std::size_t layer, const tensor::Tensor& map, std::size_t most, std::vector<trace::TextLink>& links);

} // namespace retro::engine
