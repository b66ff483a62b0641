// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/counted.h"
#include "core/rewrite/draft.h"
#include "core/rewrite/rewrite.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retro::rewrite
{

/// A node whose results need more than this is not folded, and folding stops when all results together need more than
/// the second, or more than the third times what the constants of the graph take (at least the first in any case).
inline constexpr std::uint64_t kMaxFoldedBytes = 256ULL << 20;
inline constexpr std::uint64_t kMaxFoldedBytesTogether = 1ULL << 30;
inline constexpr std::uint64_t kMaxFoldedTimes = 8;
/// Nor is a node that takes more multiplications and additions than this.
inline constexpr double kMaxFoldedFlops = 2e10;

using base::counted;

/// Constants that the bodies of If, Loop and Scan read from the graph around them become constants of the bodies, and
/// are operands of the node no longer; so that a layer in a body is known for one. False: there are none.
[[nodiscard]] base::Result<bool> takeConstantsInside(const Draft& draft, graph::Node& node);

/// Puts retrograde.PassThrough in the place of operators that are not implemented. One that has no operand, makes
/// several results that are read, or makes another shape than its operand's stays and is named with the reason.
void passUnsupported(Draft& draft, std::vector<RewriteStep>& steps);

/// Removes nodes from which no output of the graph can be reached, and constants that nobody reads then.
void removeUnused(Draft& draft, std::vector<RewriteStep>& steps);

/// Computes nodes all of whose operands are constant and puts constants in the place of their results. Moving elements
/// keeps their type; arithmetic is done and kept in float64, so that a run in either precision rounds once
/// (Draft::kept). A node that makes an output of the graph stays, and so does one that is not implemented or too large.
void foldConstants(Draft& draft, std::vector<RewriteStep>& steps);

/// QuantizeLinear and DequantizeLinear with the same scale and zero point → FakeQuantize of the domain `retrograde`;
/// integer layers (QLinearConv, MatMulInteger …) → the layers of floats that they stand for, which still multiply whole
/// numbers (domain `retrograde.integer`); functions of quantised values (QLinearAdd …) → the function of the standard
/// between them. Values of levels keep their names and become floats; who still needs levels gets them.
void dequantise(Draft& draft, std::vector<RewriteStep>& steps);

/// Takes out Identity, and Dropout in inference (its mask unread), where the value has another name to go by: the
/// graph's outputs keep theirs, so a node that makes an output of the graph from an input or constant stays. Takes out
/// Expand of an operand to the shape of the other operand of a sum or product, too, which broadcasting does.
void removeIdentities(Draft& draft, std::vector<RewriteStep>& steps);

/// MatMul or Gemm of one-hot rows by a constant matrix → Gather of its rows (domain `retrograde` where a number outside
/// picks zeros). One-hot rows are Equal of numbers and start, start + 1 …, OneHot of 0 and 1, and Gather of an identity
/// matrix, through Cast, Where(…, 1, 0) and a Reshape that leaves the last axis.
void lookUpOneHot(Draft& draft, std::vector<RewriteStep>& steps);

/// Inputs of whole numbers that are nothing but cast to floats, at once or behind what moves elements (pictures as
/// bytes, quantised observations) → inputs of floats (graph::Value::given), the Casts taken out. Masks, and other
/// inputs beside floats or tokens, stay unless they are of 8 or 16 bits and of three axes or more.
void floatInputs(Draft& draft, std::vector<RewriteStep>& steps);

/// (x − mean(x)) / √(mean((x − mean(x))²) + ε) · scale + bias over the last axes, in the orders in which exporters
/// write it, with or without scale and bias → LayerNormalization.
void fuseLayerNorm(Draft& draft, std::vector<RewriteStep>& steps);

/// x / √(mean(x²) + ε) · scale over the last axes, with quotient, reciprocal or power → RMSNormalization.
void fuseRmsNorm(Draft& draft, std::vector<RewriteStep>& steps);

/// Functions of elements → the activation that they are (recognise/elementfunctions.cpp). These five passes know a
/// function by what it computes: the nodes before a node, back to one value, are tried in double against operators. The
/// members still compute the result (graph::Node::written), but for the usual chains of LayerNormalization,
/// RMSNormalization and the activations, which the kernel of the operator computes in one walk.
void fuseActivations(Draft& draft, std::vector<RewriteStep>& steps);
/// Softmax and LogSoftmax, however they are written.
void fuseSoftmax(Draft& draft, std::vector<RewriteStep>& steps);
/// The same for LpNormalization, InstanceNormalization and GroupNormalization.
void fuseNorms(Draft& draft, std::vector<RewriteStep>& steps);

/// The products with gates in LSTM and GRU cells that are written out → Gate of the domain `retrograde`.
void fuseCells(Draft& draft, std::vector<RewriteStep>& steps);

/// softmax(scale·q·kᵀ + mask)·v of rank 4 (or of rank 3: one head), with the scale on the scores, on q, on k or on
/// both, with or without a mask → Attention.
void fuseAttention(Draft& draft, std::vector<RewriteStep>& steps);

/// MatMul by a constant on the right whose result only an Add of a constant bias reads → MatMul of the domain
/// "retrograde", which has the bias as its third operand. The bias is one number per column, or one for all.
void fuseLinear(Draft& draft, std::vector<RewriteStep>& steps);
/// True for such an Add: `product` is the MatMul before it.
[[nodiscard]] bool isLinearPair(const Draft& draft, NodeId product, NodeId add);

/// Merges what scales and shifts by channel into the Conv, ConvTranspose, Gemm or MatMul with a constant before it:
/// BatchNormalization in inference, Mul, Div, Add, Sub by constants, Neg; also behind Reshape, Flatten, Squeeze,
/// Unsqueeze and Transpose, which then move behind the layer; when nobody else reads the values between them. For
/// y = f·x + t per channel w' = w·f, b' = b·f + t, computed in float64 (Draft::kept). C of a Gemm is multiplied by beta
/// first, and beta becomes 1. An Add that fuseLinear() takes is left to it.
void mergeBatchNorm(Draft& draft, std::vector<RewriteStep>& steps);

/// Merges the same that nobody but one such layer reads into that layer: w' = w·f, b' = b + Σ w·t. Before a padded Conv
/// or a ConvTranspose only what does not shift: padding is not shifted. What shifts there becomes one
/// BatchNormalization, so that it is the same whatever it was written as, and is named.
void mergeBatchNormRight(Draft& draft, std::vector<RewriteStep>& steps);

/// Pad by zeros whose result only a Conv reads → the padding of that Conv.
void mergePad(Draft& draft, std::vector<RewriteStep>& steps);

/// If with a constant condition → the nodes of the branch that it takes, in its place (`<if>/<node>`).
void inlineBranches(Draft& draft, std::vector<RewriteStep>& steps);

/// Operators with a function body (functionBody()) → the nodes of that body, where the shapes of all operands follow
/// from those that the graph declares. Others are named with the reason.
void expandFunctions(Draft& draft, std::vector<RewriteStep>& steps);

/// ScatterND and ScatterElements without a reduction whose result only an update of the very same places reads: the
/// later one writes over all of it, and starts from what the earlier one started from.
void dropOverwritten(Draft& draft, std::vector<RewriteStep>& steps);

/// Element-wise nodes with an operand of the result's type and shape that nobody reads after them are marked
/// (graph::kOverwrites): a forward pass writes their results there. Comes last: the order of nodes is settled then.
void overwriteOperands(Draft& draft, std::vector<RewriteStep>& steps);

/// Nodes of one operator, with equal attributes and the same operands (in any order for Add and Mul), whose results
/// are no outputs of the graph → the first of them. Small constants with equal bits count as the same. Random
/// operators, checkpoints and control flow stay.
void mergeCommon(Draft& draft, std::vector<RewriteStep>& steps);

/// Two or more functions of one operand behind each other, nothing else reading between them → ElementwiseChain of the
/// domain `retrograde`, which keeps nothing but its operand and writes over what it computes, block by block.
void fuseElementwise(Draft& draft, std::vector<RewriteStep>& steps);

} // namespace retro::rewrite
