// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/viewcontext.h"

#include <QString>

#include <cstdint>
#include <optional>
#include <vector>

namespace retro::views
{

/// A place that all relevance passes on its way from the score to the input.
struct Layer
{
    base::NodeId node;
    base::ValueId value;        ///< the node's output, or the input
    QString name;               ///< "Class scores", "Block 3", "Input"
    std::uint64_t position = 0; ///< where its relevance is known
    base::HandleId relevance;
    double share = 0; ///< of what started; 0 for a gradient
    /// Of a gradient, which is not conserved: Σ|·|; at an input that is multiplied with it, of the product.
    std::optional<double> magnitude{};
};

/// Relevance of a layer as the composite means it: at an input perhaps gradient × input. Invalid when it was not kept.
[[nodiscard]] tensor::Tensor layerTensor(const RunModel& model, const Layer& layer);

/// The layers of a run from the score to the input, at most `most`. A layer is a node that alone separates target and
/// input (every path passes it), so that its share is all that is left; of several such nodes in one scope the one
/// whose relevance arrives first is taken, and a path through an input is closed by that input. Deterministic.
[[nodiscard]] std::vector<Layer> layerChain(const RunModel& model, std::size_t most = 8);

/// "block3/conv1" → "Block 3", "layer.2.add" → "Layer 2"; "Class scores" for the target, "Input" for inputs.
[[nodiscard]] QString layerName(const QString& scope, const QString& node);

} // namespace retro::views
