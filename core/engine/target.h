// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/boundmodel.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// What is explained: `argmax` (default), a class index, or VALUE[:i,j,…] (docs/cli.md).
struct TargetRequest
{
    enum class Kind { Argmax, Class, Value };
    Kind kind = Kind::Argmax;
    std::int64_t classIndex = 0;
    std::string value;               ///< name, for Kind::Value
    std::vector<std::int64_t> index; ///< indices after the name; empty = the whole value
};

/// Parses --target; a word among `labels` (of the model's card) is the class of that name. Errors: Usage.
[[nodiscard]] base::Result<TargetRequest> parseTarget(const std::string& text,
                                                      std::span<const std::string> labels = {});

/// The value whose relevance starts: the first output for Argmax and Class. Errors (Usage): no value of that name.
[[nodiscard]] base::Result<base::ValueId> targetValue(const TargetRequest& request, const graph::Graph& graph);

/// How relevance starts.
enum class StartKind { Logit, One, All, Contrastive, Given };

/// --start: a kind, or a .npy file of the target's shape.
struct StartRequest
{
    StartKind kind = StartKind::Logit;
    std::filesystem::path file; ///< for Given
};

/// Parses --start. Errors: Usage.
[[nodiscard]] base::Result<StartRequest> parseStart(const std::string& text);
/// "logit", "one", "all", "contrastive", or the file name.
[[nodiscard]] std::string nameOf(const StartRequest& start);

/// The chosen target and the relevance that starts there.
struct ResolvedTarget
{
    base::ValueId value;
    /// Per sample (first axis; one entry for targets without a batch axis): flat index within the sample, −1 for the
    /// whole value.
    std::vector<std::int64_t> index;
    /// Per sample: the value at that index (the sum for the whole value).
    std::vector<double> logit;
    /// Start relevance, shape of the value.
    tensor::Tensor start;
};

/// Chooses the target in `value` (the forward result) and builds the start relevance: the chosen element holds its own
/// value (Logit) or 1 (One); All = the whole value; Contrastive = 1 at the target and −1/N at the other elements of a
/// sample of N; Given = a file. Errors: Usage (index out of range), Input (file of another shape), Engine (no finite
/// score that argmax could choose).
[[nodiscard]] base::Result<ResolvedTarget> resolveTarget(const TargetRequest& request, const StartRequest& start,
                                                         base::ValueId value, const tensor::Tensor& forward);

/// start / value with 0/0 = 0, the gradient of which `start` is the relevance. Error (Input): the value is 0 where
/// relevance starts; `name` is for the message.
[[nodiscard]] base::Result<tensor::Tensor> dividedStart(const tensor::Tensor& start, const tensor::Tensor& value,
                                                        const std::string& name);

} // namespace retro::engine
