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

/// What is explained: `argmax` (default), a class index, `token=11,class=504`, or VALUE[:i,j,…] or
/// VALUE:token=11,class=504 (docs/cli.md).
struct TargetRequest
{
    enum class Kind {
        Argmax,
        Class,
        Value,
        Element, ///< of the default value: the element at the row-major position `classIndex` of each sample
        Place    ///< of the default value, or of `value`: the element that `place` names
    };
    /// An index along an axis that is named as trace::axisNames() names it.
    struct Coordinate
    {
        std::string axis;
        std::int64_t index = 0;
    };
    Kind kind = Kind::Argmax;
    std::int64_t classIndex = 0;
    std::string value = {};               ///< name, for Kind::Value and Kind::Place; empty = the default value
    std::vector<std::int64_t> index = {}; ///< indices after the name; empty = the whole value
    std::vector<Coordinate> place = {};   ///< for Kind::Place; along an axis that it does not name, the largest counts
    /// Where no value is named: relevance starts at the scores that the default value is a result of (ops::ScoreTail),
    /// where the same element is chosen there.
    bool atScores = false;
    /// Labels that the name of the value may be misspelt for.
    std::vector<std::string> nearLabels = {};

    /// True when a value is named.
    [[nodiscard]] bool namesValue() const { return !value.empty(); }
};

/// Parses --target; a word among `labels` (of the model's card) is the class of that name, also behind `class=`; its
/// case counts where labels differ in nothing else.
/// Errors: Usage.
[[nodiscard]] base::Result<TargetRequest> parseTarget(const std::string& text,
                                                      std::span<const std::string> labels = {});

/// The value whose relevance starts: the one that is named, else the first output that is declared with floating
/// elements (the first one of all, where none is). Errors (Usage): no value of that name.
[[nodiscard]] base::Result<base::ValueId> targetValue(const TargetRequest& request, const graph::Graph& graph);

/// The value whose relevance starts, of a bound model: the one that is named, else the first floating output that
/// is computed and that relevance can reach, or its scores (TargetRequest::atScores). `note` takes why, where that is
/// not the first output. Errors: Usage (no value of that name), Input (a value of integers; no floating output).
[[nodiscard]] base::Result<base::ValueId> targetValue(const TargetRequest& request, const execute::BoundModel& model,
                                                      std::string* note = nullptr);

/// How relevance starts.
enum class StartKind { Logit, One, All, Contrastive, Given };

/// --start: a kind, or a .npy file of the target's shape.
struct StartRequest
{
    StartKind kind = StartKind::Logit;
    std::filesystem::path file; ///< for Given
    tensor::Tensor given{};     ///< for Given, in place of a file: what flows at the target, of its shape
    std::string led{};          ///< of `given`: the start that led there, in words
    /// Of Logit and One: elements beside the target, by their class at the place of the target, whose mean is taken
    /// off.
    std::vector<std::int64_t> against{};
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
    /// Per sample: the value at that index (the sum for the whole value), less the mean of what it is set
    /// against.
    std::vector<double> logit;
    /// Start relevance, shape of the value.
    tensor::Tensor start;
    /// Per sample: the element in words ("token 11, class 504"); "7" where there is one row of classes per sample,
    /// empty for the whole value and for a sample without a target. "time 7, class 3" where the first axis is time, and
    /// no samples lie along it (CtcReading).
    std::vector<std::string> place = {};
    /// For people: why this value, where nobody chose it, and what does not run of the model.
    std::vector<std::string> notes = {};
};

/// Chooses the target in `value` (the forward result) and builds the start relevance: the chosen element holds its own
/// value (Logit) or 1 (One); All = the whole value; Contrastive = 1 at the target and −1/N at the other elements of a
/// sample of N; Given = a file. A class of a value with more than one row of classes per sample is taken in the row
/// where its score is the largest. `axes` names the value's axes; none = as trace::usualAxisNames(). Errors: Usage
/// (index out of range, no axis of that name), Input (file of another shape), Engine (no finite score that argmax could
/// choose).
[[nodiscard]] base::Result<ResolvedTarget> resolveTarget(const TargetRequest& request, const StartRequest& start,
                                                         base::ValueId value, const tensor::Tensor& forward,
                                                         const std::vector<std::string>& axes = {});

/// start / value with 0/0 = 0, the gradient of which `start` is the relevance. Error (Input): the value is 0 where
/// relevance starts; `name` is for the message.
[[nodiscard]] base::Result<tensor::Tensor> dividedStart(const tensor::Tensor& start, const tensor::Tensor& value,
                                                        const std::string& name);

} // namespace retro::engine
