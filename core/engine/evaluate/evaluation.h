// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/evaluate/attribution.h"
#include "core/engine/evaluate/flipping.h"
#include "core/engine/evaluate/randomisation.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace retro::engine
{

/// What is asked of an evaluation, beside the question of the explanation.
struct EvaluationOptions
{
    std::vector<std::string> methods{"lrp", "input_x_gradient"};
    AttributionOptions attribution;
    UnitOptions units;
    FlippingOptions flipping;
    std::size_t stages = 0;            ///< of top-down randomisation; 0: none
    std::string input;                 ///< whose parts are removed; empty = as Subject::make chooses
    std::optional<std::int64_t> other; ///< the class to compare with; none = the runner-up
};

/// The measures of one method.
struct MethodMeasures
{
    std::string method;
    Attributed attributed;
    FlippingCurves curves;
    /// Cosine of the attributions to the target and to the other class; nothing when there is none, or relevance does
    /// not start at a class (start `all` or a given one).
    std::optional<double> cosineToOther;
    std::vector<RandomisationStage> stages;
    double seconds = 0; ///< that the attribution took
};

/// What an evaluation of one input gives.
struct Evaluation
{
    std::string model;
    std::string input;             ///< name of the evaluated input
    std::vector<std::string> held; ///< other inputs that carry relevance: they stay as they are
    std::string target;
    std::string composite;
    std::string units; ///< "196 patches of 14 × 14"
    std::optional<std::int64_t> otherClass;
    Curve random;
    std::vector<MethodMeasures> methods;
    double score = 0;                       ///< of the target at the input as it is
    std::vector<std::string> warnings = {}; ///< about the target and the relevance pass
    std::string otherPlace = {}; ///< the other class as `target` has its own: "7", "row 4, column 5, class 7"
};

/// (what is done now, done, total): "lrp: flipping", 3, 42.
using NamedProgress = std::function<void(const std::string&, std::size_t, std::size_t)>;

/// Evaluates the chosen methods on one input. Errors: those of Subject::make, decideUnits() and of its passes;
/// Usage (unknown method, one that does not take tokens, another class that there is not);
/// Cancelled.
[[nodiscard]] base::Result<Evaluation> evaluate(const LoadedModelPointer& model, const ExplainRequest& question,
                                                const EvaluationOptions& options, std::stop_token stop = {},
                                                const NamedProgress& progress = {});

/// The hash of a question (resultHash()) together with what is measured: evaluation.json has it as `question`.
[[nodiscard]] std::string hashWith(const std::string& result, const EvaluationOptions& options);
/// evaluation.json (docs/cli.md).
[[nodiscard]] nlohmann::ordered_json toJson(const Evaluation& evaluation);
/// One row per point of every curve: method, curve, removed, score.
[[nodiscard]] std::string curvesCsv(const Evaluation& evaluation);
/// One row per number that is no point of a curve: method, measure, layer, layers, value. Areas of every method and of
/// the random order, cosine to the other class, cosine and rank correlation of each stage of randomisation.
[[nodiscard]] std::string measuresCsv(const Evaluation& evaluation);

} // namespace retro::engine
