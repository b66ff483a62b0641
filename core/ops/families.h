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
[[nodiscard]] std::span<const OperatorDeclaration> indexDeclarations();
[[nodiscard]] std::span<const OperatorDeclaration> typedDeclarations();

} // namespace retro::ops
