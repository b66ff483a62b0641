// SPDX-License-Identifier: Apache-2.0
#include "core/formats/known/mlscores.h"

#include <fmt/format.h>

#include <numbers>

namespace retro::formats
{

using base::inputError;
using base::Result;

namespace
{

constexpr std::int64_t kFloat32 = 1; // TensorProto.DataType
constexpr double kWinitzki = 0.147;
constexpr double kNearZero = 1e-7; // below it, SOFTMAX_ZERO takes a score for 0

/// Softmax in which scores near 0 take no part in the sum.
std::string softmaxZero(FunctionWriter& body, const std::string& scores)
{
    const auto overColumns = [&](const char* op, const std::string& x) {
        return std::string(op) == "ReduceMax" ? body.add(op, {x}, {{"axes", std::vector<std::int64_t>{-1}}}, 13)
                                              : body.add(op, {x, body.integers({-1})});
    };
    const std::string counts = body.add("Greater", {body.add("Abs", {scores}), body.floats({kNearZero}, {})});
    const std::string most = overColumns("ReduceMax", scores);
    const std::string zero = body.floats({0}, {});
    const std::string exponentials =
        body.add("Where", {counts, body.add("Exp", {body.add("Sub", {scores, most})}), zero});
    const std::string small = body.add("Mul", {scores, body.add("Exp", {body.add("Neg", {most})})});
    const std::string all = body.add("Add", {exponentials, body.add("Where", {counts, zero, small})});
    return body.add("Div", {all, overColumns("ReduceSum", exponentials)});
}

/// The inverse of the normal distribution, with the inverse error function as onnxruntime approximates it (S.
/// Winitzki); NaN outside 0 to 1.
std::string probit(FunctionWriter& body, const std::string& scores)
{
    const auto number = [&](double value) { return body.floats({value}, {}); };
    const std::string x = body.add("Sub", {body.add("Mul", {scores, number(2)}), number(1)});
    const std::string product = body.add("Mul", {body.add("Sub", {number(1), x}), body.add("Add", {x, number(1)})});
    const std::string log = body.add("Log", {product});
    const std::string half = body.add("Mul", {log, number(0.5)});
    const std::string v = body.add("Add", {half, number(2 / (std::numbers::pi * kWinitzki))});
    const std::string square = body.add("Sub", {body.add("Mul", {v, v}), body.add("Div", {log, number(kWinitzki)})});
    const std::string size = body.add("Sqrt", {body.add("Sub", {body.add("Sqrt", {square}), v})});
    const std::string inverse = body.add("Mul", {body.add("Sign", {x}), size});
    return body.add("Mul", {inverse, number(std::numbers::sqrt2)});
}

} // namespace

std::string asFloats(FunctionWriter& body)
{
    return body.elementType(0) == tensor::DType::Float32 ? body.operand(0)
                                                         : body.add("Cast", {body.operand(0)}, {{"to", kFloat32}});
}

Result<std::string> withPostTransform(FunctionWriter& body, const std::string& scores)
{
    const std::string name = body.text("post_transform", "NONE");
    if (name == "NONE") {
        return scores;
    }
    if (name == "SOFTMAX") {
        return body.add("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
    }
    if (name == "LOGISTIC") {
        return body.add("Sigmoid", {scores});
    }
    if (name == "SOFTMAX_ZERO") {
        return softmaxZero(body, scores);
    }
    if (name == "PROBIT") {
        return probit(body, scores);
    }
    return inputError(
        fmt::format("post_transform '{}' is not known; NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and PROBIT are", name));
}

Result<std::string> scoresOfTwo(FunctionWriter& body, const std::string& score)
{
    const std::string name = body.text("post_transform", "NONE");
    if (name == "PROBIT") {
        return inputError(
            "post_transform 'PROBIT' of one score for two classes is not supported; give each class a score");
    }
    std::string other = body.add(name == "LOGISTIC" ? "Neg" : "Sub",
                                 name == "LOGISTIC" ? FunctionWriter::Names{score}
                                                    : FunctionWriter::Names{body.floats({1}, {}), score});
    const std::string both = body.add("Concat", {other, score}, {{"axis", std::int64_t{1}}});
    return name == "LOGISTIC" ? body.add("Sigmoid", {both}) : both;
}

std::string pickLabels(FunctionWriter& body, const std::string& positions)
{
    const std::vector<std::string> texts = body.texts("classlabels_strings");
    const std::vector<std::int64_t> numbers =
        body.has("classlabels_int64s") ? body.integers("classlabels_int64s") : body.integers("classlabels_ints");
    return body.add("Gather", {texts.empty() ? body.integers(numbers) : body.textList(texts), positions});
}

} // namespace retro::formats
