// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/registry.h"

#include <initializer_list>
#include <span>

/// Declarations of each operator family, defined in the family's own file; registry.cpp gathers them.
namespace retro::ops
{

/// The declarations of one family.
using OperatorFamily = std::initializer_list<OperatorDeclaration>;

// A new family is its own file, which defines k…Operators, and its line here.
// clang-format off
#define RETRO_OPERATOR_FAMILIES(X) \
    X(kSumOperators) \
    X(kProductOperators) \
    X(kMatMulOperators) \
    X(kGemmOperators) \
    X(kReshapeOperators) \
    X(kIdentityOperators) \
    X(kTransposeOperators) \
    X(kConcatOperators) \
    X(kSplitOperators) \
    X(kReduceOperators) \
    X(kActivationOperators) \
    X(kSoftmaxOperators) \
    X(kConvolutionOperators) \
    X(kNormalisationOperators) \
    X(kMaxPoolOperators) \
    X(kAveragePoolOperators) \
    X(kPadOperators) \
    X(kPreluOperators) \
    X(kSliceOperators) \
    X(kTypedOperators) \
    X(kUnaryOperators) \
    X(kComparisonOperators) \
    X(kBitOperators) \
    X(kRoundingOperators) \
    X(kExtremeOperators) \
    X(kPowerOperators) \
    X(kWhereOperators) \
    X(kRepeatOperators) \
    X(kGatherOperators) \
    X(kScatterOperators) \
    X(kReduceFunctionOperators) \
    X(kCumulativeOperators) \
    X(kArgExtremeOperators) \
    X(kTopKOperators) \
    X(kDataShapeOperators) \
    X(kOneHotOperators) \
    X(kRearrangeOperators) \
    X(kRangeOperators) \
    X(kClipOperators) \
    X(kEinsumOperators) \
    X(kDetOperators) \
    X(kControlFlowOperators) \
    X(kStandardisationOperators) \
    X(kNormByAxisOperators) \
    X(kLpPoolOperators) \
    X(kMaxUnpoolOperators) \
    X(kQuantiseOperators) \
    X(kFakeQuantizeOperators) \
    X(kQuantOperators) \
    X(kBipolarQuantOperators) \
    X(kTruncQuantOperators) \
    X(kIntegerLayerOperators) \
    X(kMatMulNBitsOperators) \
    X(kIntegerMatMulOperators) \
    X(kIntegerConvolutionOperators) \
    X(kResizeOperators) \
    X(kGridSampleOperators) \
    X(kAffineGridOperators) \
    X(kCol2ImOperators) \
    X(kCenterCropPadOperators) \
    X(kRoiAlignOperators) \
    X(kMaxRoiPoolOperators) \
    X(kNonMaxSuppressionOperators) \
    X(kRecurrentOperators) \
    X(kAttentionOperators) \
    X(kRotaryEmbeddingOperators) \
    X(kFusedActivationOperators) \
    X(kDeformConvolutionOperators) \
    X(kDftOperators) \
    X(kStftOperators) \
    X(kWindowFunctionOperators) \
    X(kLutOperators) \
    X(kTreeEnsembleOperators) \
    X(kSupportVectorOperators)
// clang-format on

#define RETRO_DECLARED(family) extern const OperatorFamily family;
RETRO_OPERATOR_FAMILIES(RETRO_DECLARED)
#undef RETRO_DECLARED

} // namespace retro::ops
