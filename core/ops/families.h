// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/registry.h"

#include <span>

/// Declarations of each operator family, defined in the family's own file; registry.cpp gathers them.
namespace retro::ops
{

/// The declarations of one family.
[[nodiscard]] std::span<const OperatorDeclaration> sumDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> productDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> matMulDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> gemmDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> reshapeDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> identityDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> transposeDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> concatDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> splitDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> reduceDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> activationDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> softmaxDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> convolutionDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> normalisationDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> maxPoolDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> averagePoolDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> padDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> preluDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> sliceDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> typedDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> unaryDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> comparisonDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> bitDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> roundingDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> extremeDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> powerDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> whereDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> repeatDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> gatherDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> scatterDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> reduceFunctionDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> cumulativeDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> argExtremeDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> topKDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> dataShapeDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> oneHotDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> rearrangeDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> rangeDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> clipDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> einsumDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> detDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> controlFlowDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> standardisationDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> normByAxisDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> lpPoolDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> maxUnpoolDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> quantiseDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> fakeQuantizeDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> quantDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> bipolarQuantDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> truncQuantDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> integerLayerDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> matMulNBitsDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> quantisedFunctionDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> integerMatMulDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> integerConvolutionDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> resizeDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> gridSampleDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> affineGridDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> col2ImDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> centerCropPadDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> roiAlignDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> maxRoiPoolDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> nonMaxSuppressionDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> recurrentDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> attentionDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> rotaryEmbeddingDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> fusedActivationDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> skipNormalizationDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> fusedMatMulDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> fusedAttentionDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> deformConvolutionDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> dftDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> stftDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> windowFunctionDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> lutDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> treeEnsembleDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> supportVectorDeclarations();

} // namespace retro::ops
