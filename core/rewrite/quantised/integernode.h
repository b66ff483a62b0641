// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/quantised/dequantiser.h"

namespace retro::rewrite
{

/// A linear layer of dequantised operands.
struct IntegerLayerParts
{
    std::string op; ///< Conv, Gemm, MatMul
    ValueId x;
    ValueId w;
    ValueId bias; ///< may be invalid
    ValueId xScale;
    ValueId wScale;
    graph::Attributes attributes;
};

/// The node that it becomes.
struct IntegerLayer
{
    NodeForm form;
    std::vector<ValueId> inputs;
};

/// A layer of the domain retrograde.integer, which multiplies whole numbers, where the scales are such that it can
/// (one of x, one or one per column of w), else the layer of the standard.
[[nodiscard]] IntegerLayer integerLayer(Dequantiser& to, IntegerLayerParts parts);

/// ConvInteger and MatMulInteger with what follows: the Add of a bias of whole numbers, the Cast and products with
/// scales or a DequantizeLinear, the Add of a bias.
[[nodiscard]] bool integerProduct(Dequantiser& to, NodeId id);
/// GatherBlockQuantized with a small constant table; a larger one stays packed.
[[nodiscard]] bool gatherBlockQuantized(Dequantiser& to, NodeId id);
/// MatMulNBits with small constant weights; larger ones stay packed.
[[nodiscard]] bool matMulNBits(Dequantiser& to, NodeId id);

} // namespace retro::rewrite
