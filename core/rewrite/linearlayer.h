// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/genericshapes.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::rewrite
{

/// An axis of a value, and by how much the channel grows with its index; 0 = it carries no channel.
struct ChannelAxis
{
    std::int64_t extent = 0; ///< 0 = not known
    std::int64_t stride = 0;
};

/// Which channel each element of a value belongs to: Σ index·stride over its axes.
struct ChannelView
{
    std::int64_t channels = 1;
    std::vector<ChannelAxis> axes; ///< the last axes of the value
    bool isWhole = true;           ///< they are all its axes; else there may be others in front, without channels
};

/// A view of `rank` axes, `axis` of which is the channels.
[[nodiscard]] ChannelView viewOf(std::size_t rank, std::size_t axis, std::int64_t channels);

/// The view with all axes of a value of this shape and their extents; nothing where they contradict each other.
[[nodiscard]] std::optional<ChannelView> completed(const ChannelView& view, const GenericShape& shape);

/// One number per channel: what `constant`, broadcast to the value that the view is of, has at the elements of each.
/// Nothing where it differs between elements of one channel, or where broadcasting would change the value's shape.
[[nodiscard]] std::optional<std::vector<double>> perChannel(const tensor::Tensor& constant, const ChannelView& view);

/// True for a node that moves elements and changes none: Reshape, Flatten, Squeeze, Unsqueeze, Transpose.
[[nodiscard]] bool isRearrangement(const graph::Node& node);

/// The view on the other side of such a node: of its result, when `view` is of its operand (`isForward`), or the other
/// way round. Nothing where a channel is no longer a sum over axes, or where the shapes are not known.
[[nodiscard]] std::optional<ChannelView> across(const graph::Node& node, const ChannelView& view, bool isForward,
                                                GenericShapes& shapes);

/// How a weight is laid out: batch × rows × columns × inner, of which rows are the channels that are read or made, and
/// columns the others, per group.
struct WeightLayout
{
    /// Which channel an element reads and which it adds to.
    struct Channels
    {
        std::int64_t read = 0;
        std::int64_t made = 0;
    };

    std::int64_t rows = 1;
    std::int64_t columns = 1;
    std::int64_t inner = 1;
    std::int64_t groups = 1;
    bool areRowsRead = false;

    /// Of the element at a row-major position of the weight.
    [[nodiscard]] Channels at(std::int64_t position) const;
    [[nodiscard]] std::int64_t readCount() const { return areRowsRead ? rows : columns * groups; }
    [[nodiscard]] std::int64_t madeCount() const { return areRowsRead ? columns * groups : rows; }
};

/// A node that is a linear map with a constant weight: Conv, ConvTranspose, Gemm, MatMul with a constant on either
/// side, with or without the bias that MatMul has in the domain `retrograde`.
struct LinearLayer
{
    NodeId node;
    std::size_t slot = 0; ///< operand that is x
    std::size_t weightSlot = 1;
    WeightLayout layout;
    ChannelView read;          ///< of x
    ChannelView made;          ///< of the result
    tensor::Shape biasShape;   ///< of a bias with one number per channel
    double productScale = 1;   ///< alpha of a Gemm
    double biasScale = 1;      ///< beta of a Gemm
    bool takesBias = true;     ///< the bias that is there is constant, and one number per channel or one for all
    bool takesShift = true;    ///< a shift of x by channel is a bias: no padding lies beside x
    std::size_t leastRank = 1; ///< of x and the result, where the views are not whole
};

/// The node as a linear layer; nothing when it is none, or its weight is not a floating constant.
[[nodiscard]] std::optional<LinearLayer> linearLayerAt(const Draft& draft, NodeId id);

/// The bias per channel made, with beta; zeros where there is none.
[[nodiscard]] std::vector<double> biasOf(const Draft& draft, const LinearLayer& layer);

/// What changes in a layer: every weight times the factor of the channel that it reads or makes, and a new bias.
struct LayerChange
{
    std::vector<double> factor;
    bool isOfRead = false;
    std::optional<std::vector<double>> bias = {}; ///< nothing = as it is
    std::string biasName = {};                    ///< of a new bias
};

/// What a shift of x by `shift` per channel read adds to each channel made.
[[nodiscard]] std::vector<double> shiftedBy(const Draft& draft, const LinearLayer& layer,
                                            std::span<const double> shift);

/// The layer's node with new constants, operands and outputs otherwise as they are. Nothing when a weight or bias would
/// leave the range of normal numbers of float32, in which it was.
[[nodiscard]] std::optional<graph::Node> changedLayer(Draft& draft, const LinearLayer& layer,
                                                      const LayerChange& change);

} // namespace retro::rewrite
