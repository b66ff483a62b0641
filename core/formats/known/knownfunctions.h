// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/formats/known/functionwriter.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retro::formats
{

/// What a writer answers: true when the function was written, false when the call shall stay a node of its own.
using Written = base::Result<bool>;

/// An operator that is written out as the steps that it stands for while a file is read: what optimisers fuse, and
/// operators of ONNX-ML that are chains of operators of the standard. Its operands and attributes stand in
/// core/ops/schema.
struct KnownFunction
{
    std::string_view domain;
    std::string_view op;
    std::string_view steps; ///< for `ops`: "Conv, Add, activation"
    Written (*write)(FunctionWriter&);
};

/// All of them, sorted by domain and operator.
[[nodiscard]] const std::vector<KnownFunction>& knownFunctions();
/// True when calls of this operator may be written out.
[[nodiscard]] bool isKnownFunction(std::string_view domain, std::string_view op);
/// The function that a call stands for; nothing when it is none of these, or stays a node. Errors (Input, without a
/// place): operands, outputs or attributes that the operator does not have, or with values that have no meaning.
[[nodiscard]] base::Result<std::optional<onnxschema::FunctionProto>> knownFunction(const onnxschema::NodeProto& call,
                                                                                   const GraphFacts& facts);

/// x·σ(αx), and Gelu by tanh, of the standard.
[[nodiscard]] std::string swish(FunctionWriter& body, const std::string& x, double alpha);
[[nodiscard]] std::string geluByTanh(FunctionWriter& body, const std::string& x);

/// The functions by family.
using FunctionFamily = std::initializer_list<KnownFunction>;
extern const FunctionFamily kFusedLayerFunctions;
extern const FunctionFamily kFusedTransformerFunctions;
extern const FunctionFamily kAttentionFunctions;
extern const FunctionFamily kGroupAttentionFunctions;
extern const FunctionFamily kExpertFunctions;
extern const FunctionFamily kQuantisedFunctions;
extern const FunctionFamily kMachineLearningFunctions;
extern const FunctionFamily kClassifierFunctions;

} // namespace retro::formats
