// SPDX-License-Identifier: Apache-2.0
// Classifiers of ONNX-ML: scores, and the label of the best one.
#include "core/formats/known/knownfunctions.h"
#include "core/formats/known/mlscores.h"

#include <fmt/format.h>

#include <numeric>

namespace retro::formats
{

using base::inputError;
using base::Result;

namespace
{

/// Position of the best score; of one score, whether it is above 0.
std::string bestPosition(FunctionWriter& body, const std::string& scores, bool isSingle)
{
    if (!isSingle) {
        return body.add("ArgMax", {scores}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}});
    }
    const std::string isPositive = body.add("Greater", {scores, body.floats({0}, {})});
    return body.add("Reshape", {body.add("Cast", {isPositive}, {{"to", std::int64_t{7}}}), body.integers({-1})});
}

/// How many classes and features a LinearClassifier has.
struct LinearExtents
{
    std::int64_t scores = 0;
    std::int64_t features = 0;
};

Result<LinearExtents> linearExtents(const FunctionWriter& body)
{
    const auto coefficients = static_cast<std::int64_t>(body.numbers("coefficients").size());
    const auto scores = static_cast<std::int64_t>(body.numbers("intercepts").size());
    const auto labels =
        static_cast<std::int64_t>(body.integers("classlabels_ints").size() + body.texts("classlabels_strings").size());
    if (scores == 0 || coefficients == 0 || coefficients % scores != 0) {
        return inputError(fmt::format("{} coefficients do not divide among {} intercepts", coefficients, scores));
    }
    if (labels < scores || (scores == 1 && labels != 2)) {
        return inputError(fmt::format("{} class labels do not fit {}", labels,
                                      scores == 1 ? "one score" : fmt::format("{} scores", scores)));
    }
    return LinearExtents{scores, coefficients / scores};
}

Written writeLinearClassifier(FunctionWriter& body)
{
    RETRO_TRY(const LinearExtents extents, linearExtents(body));
    const bool isSingle = extents.scores == 1;
    const std::string weights = body.floats(body.numbers("coefficients"), {extents.scores, extents.features});
    const std::string scores = body.add("Gemm", {asFloats(body), weights, body.floats(body.numbers("intercepts"))},
                                        {{"transB", std::int64_t{1}}});
    if (body.isAsked(0)) {
        body.output(0, pickLabels(body, bestPosition(body, scores, isSingle)));
    }
    RETRO_TRY(const std::string result, isSingle ? scoresOfTwo(body, scores) : withPostTransform(body, scores));
    body.output(1, result);
    return true;
}

/// A classifier whose labels are texts: positions are found first, and labels picked by them.
Written writeTextLabels(FunctionWriter& body, std::string_view op, const std::vector<std::string>& attributes)
{
    const std::size_t labels = body.texts("classlabels_strings").size();
    if (labels == 0) {
        return false;
    }
    std::vector<std::int64_t> positions(labels);
    std::iota(positions.begin(), positions.end(), std::int64_t{0});
    graph::Attributes kept = body.pick(attributes);
    kept[op == "SVMClassifier" ? "classlabels_ints" : "classlabels_int64s"] = std::move(positions);
    const auto results = body.addOf("ai.onnx.ml", op, {body.operand(0)}, std::move(kept), 0, 2);
    if (body.isAsked(0)) {
        body.output(0, pickLabels(body, results[0]));
    }
    body.output(1, results[1]);
    return true;
}

Written writeTreeLabels(FunctionWriter& body)
{
    return writeTextLabels(body, "TreeEnsembleClassifier",
                           {"nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values",
                            "nodes_values_as_tensor", "nodes_hitrates", "nodes_hitrates_as_tensor", "nodes_modes",
                            "nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true", "base_values",
                            "base_values_as_tensor", "post_transform", "class_treeids", "class_nodeids", "class_ids",
                            "class_weights", "class_weights_as_tensor"});
}

Written writeSupportLabels(FunctionWriter& body)
{
    return writeTextLabels(body, "SVMClassifier",
                           {"coefficients", "kernel_params", "kernel_type", "post_transform", "prob_a", "prob_b", "rho",
                            "support_vectors", "vectors_per_class"});
}

} // namespace

const FunctionFamily kClassifierFunctions{
    {"ai.onnx.ml", "LinearClassifier", "Gemm, Softmax or Sigmoid; ArgMax", writeLinearClassifier},
    {"ai.onnx.ml", "TreeEnsembleClassifier", "TreeEnsembleClassifier, Gather of labels that are texts",
     writeTreeLabels},
    {"ai.onnx.ml", "SVMClassifier", "SVMClassifier, Gather of labels that are texts", writeSupportLabels},
};

} // namespace retro::formats
