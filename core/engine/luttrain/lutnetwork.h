// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "kernels/lut/run.h"
#include "kernels/lut/sparsegradient.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace retro::engine
{

/// Synapses that a sparse layer's rows get, with a rate of their own (a synapse meta of section 1.6).
struct LutSynapseGroup
{
    float share = 1; ///< of the outputs that each row reaches by this group, above 0, to 1; at least one output
    float rate = 1;  ///< 0 to 1, of the gradients of its weights and of its part in the scores of rows
};

/// One LUT layer of a network to be trained.
struct LutLayerPlan
{
    std::uint32_t tables = 64;
    std::uint32_t comparisons = 6;
    std::uint32_t codeBits = 0; ///< of a sequence layer
    std::uint32_t outputs = 0;  ///< 0: as many as there are classes
    bool isSequence = false;    ///< reads pairs of positions
    bool isResidual = false;    ///< x + layer(x); has as many outputs as inputs
    float rateFactor = 1;       ///< 0 to 1, of all gradients that come from the layer (docs/lut.md, "Training")
    std::vector<LutSynapseGroup> groups = {}; ///< sparse, each row with outputs of its own; empty = fully connected
};

/// A classifier: layers one after another; of a sequence, the class is read at the last position.
struct LutNetworkPlan
{
    std::uint32_t inputs = 0;     ///< numbers per sample, or per position
    std::uint32_t length = 1;     ///< positions
    std::uint32_t vocabulary = 0; ///< above 0: inputs are tokens below it, each a row of a fixed random embedding
    std::uint32_t classes = 0;
    std::vector<LutLayerPlan> layers;
    std::uint64_t seed = 1;
};

/// A layer with its numbers. Anchors are drawn per (seed, layer, table): distinct ordered pairs.
struct LutTrainLayer
{
    lut::LayerShape shape;
    bool isResidual = false;
    float rateFactor = 1;
    std::vector<lut::Anchor> anchors;     ///< [T, C]
    std::vector<float> weights;           ///< [T, R, O]; sparse: one per synapse
    std::vector<float> codes;             ///< [S − 1, T, P]
    std::vector<std::uint64_t> rowStarts; ///< sparse: [N + 1]; empty = fully connected
    std::vector<std::uint32_t> columns;   ///< sparse: output of each synapse, ascending within a row
    std::vector<float> rates;             ///< sparse: of each synapse; empty = all 1

    [[nodiscard]] bool isSparse() const { return !rowStarts.empty(); }
};

/// Which gradients a batch is run for, and where those of weights go (section 1.6).
enum class LutGradients : std::uint8_t {
    None,
    Dense,   ///< an array as large as the weights, per layer
    Sparse,  ///< index and value of what is not zero; one dense array serves all layers, one after another
    Internal ///< nowhere: weights are changed in the backward pass itself
};

/// Gradients of a layer, in the shapes of its numbers.
struct LutLayerGradients
{
    std::vector<float> weights;               ///< empty when they are sparse
    lut::SparseGradient<float> sparseWeights; ///< empty when they are dense
    std::vector<float> codes;
};

/// What a batch gave.
struct LutBatchResult
{
    double loss = 0; ///< mean cross-entropy
    std::size_t right = 0;
    std::vector<LutLayerGradients> gradients; ///< per layer; empty when none were asked for
    std::vector<float> scratch;               ///< from which sparse gradients were read: zeros
};

/// A network of LUT layers in float32, on the CPU kernels.
class LutNetwork
{
public:
    /// Draws anchors, codes and embedding; weights start at 0 in the last layer, small in the others. Errors (Input):
    /// what the layers' own checks say, a residual layer that changes the width.
    [[nodiscard]] static base::Result<LutNetwork> create(const LutNetworkPlan& plan);

    /// Scores of each class, [B, classes]. `input` is [B, inputs] or [B, S, inputs].
    [[nodiscard]] std::vector<float> scores(std::span<const float> input, int threads = 0) const;
    /// Loss and the gradients of its mean that are wanted (docs/lut.md, "Training"): all rows are
    /// scored before anything is changed. A layer's rate factor, and the rates of its synapses, scale those of its
    /// weights and codes, and what it sends to the layers before it. Internal is for descend() alone.
    [[nodiscard]] LutBatchResult run(std::span<const float> input, std::span<const std::int64_t> labels,
                                     LutGradients wanted, int threads = 0) const;
    /// The same into the result of a batch before, whose memory is used again.
    void run(std::span<const float> input, std::span<const std::int64_t> labels, LutGradients wanted, int threads,
             LutBatchResult& result) const;
    /// A batch of plain descent whose backward pass changes the weights itself: weight −= rate · gradient, without an
    /// array of gradients (policy Internal). A layer's rows are scored before its weights change. The result has the
    /// gradients of the codes, which stay for the caller to change.
    void descend(std::span<const float> input, std::span<const std::int64_t> labels, float rate, int threads,
                 LutBatchResult& result);
    /// Tokens as the first layer sees them, [N, embedding]; as they are without a vocabulary.
    [[nodiscard]] std::vector<float> embedded(std::span<const std::int64_t> tokens) const;

    /// The network as a graph: operator LUT per layer, input "x" or "tokens", output "logits". With a picture's height
    /// and width, whose product is the number of inputs, x is [N, 1, height, width]. Errors (Input): it is not.
    [[nodiscard]] base::Result<graph::Graph> toGraph(std::array<std::uint32_t, 2> picture = {0, 0}) const;

    [[nodiscard]] const LutNetworkPlan& plan() const { return m_plan; }
    /// What the optimiser changes: weights and codes, in the order of the layers.
    [[nodiscard]] std::vector<LutTrainLayer>& layers() { return m_layers; }
    [[nodiscard]] const std::vector<LutTrainLayer>& layers() const { return m_layers; }
    [[nodiscard]] std::size_t parameterCount() const;

private:
    struct Pass;
    struct Descent;
    void carryBack(const Pass& pass, std::span<const std::int64_t> labels, LutGradients wanted, const Descent* descent,
                   LutBatchResult& result) const;

    LutNetworkPlan m_plan;
    std::vector<LutTrainLayer> m_layers;
    std::vector<float> m_embedding; ///< [vocabulary, inputs]
};

} // namespace retro::engine
