// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/boundmodel.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retro::engine
{

/// Values by head in front of the output projection of one attention: Σ over keys of probability · value.
struct HeadValues
{
    base::ValueId value;
    std::int64_t heads = 1;
    /// batch × heads × tokens × width when true, or (batch · heads) × tokens × width; else the heads lie side by side:
    /// batch × tokens × (heads · width).
    bool isByHead = false;
};

/// Where the layers of a transformer meet, found by the structure of its graph and not by names.
struct ResidualStreams
{
    /// The residual stream that enters each layer, and as the last one the stream behind the last layer: layers + 1
    /// values, batch × tokens × features each.
    std::vector<base::ValueId> streams;
    std::vector<HeadValues> heads; ///< per layer
};

/// Four axes for values by head that have three: batch × heads × tokens × width.
[[nodiscard]] tensor::Shape shapeByHead(const tensor::Shape& shape, std::int64_t heads);

/// Finds them: a layer is an attention, or a softmax between two products, with a sum behind it (Add of any kind) that
/// adds a value in front of it. That value is the stream of the layer. Attentions without such a sum are left out.
/// With `tokens` (an input, which a decoder reads beside an encoder) only attentions among those tokens count.
/// Errors (Input): there is none; the message says what can be done.
[[nodiscard]] base::Result<ResidualStreams> residualStreams(const execute::BoundModel& model,
                                                            base::ValueId tokens = {});

/// The product that mixes values by the probabilities of a softmax, in the body of an attention (lrp::bodyOf()): its
/// operands are probabilities and values, four axes each. None where there is no such product.
[[nodiscard]] std::optional<base::NodeId> mixingNode(const execute::BoundModel& body);

/// Relevance of the streams, summed over features: (layers + 1) × tokens, in float64. `relevance` by ValueId (as
/// ExplainResult::relevance); what nothing arrived at counts as 0. `row` is the row of the batch.
[[nodiscard]] tensor::Tensor streamRelevance(const ResidualStreams& streams, const execute::BoundModel& model,
                                             std::span<const tensor::Tensor> relevance, std::int64_t row = 0);

/// Relevance of the heads: layers × tokens × heads, in float64; the rest as streamRelevance(). A layer with fewer heads
/// than another one has 0 there.
[[nodiscard]] tensor::Tensor headRelevance(const ResidualStreams& streams, const execute::BoundModel& model,
                                           std::span<const tensor::Tensor> relevance, std::int64_t row = 0);

} // namespace retro::engine
