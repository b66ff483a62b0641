// SPDX-License-Identifier: Apache-2.0
// Operators of ONNX-ML that are chains of operators of the standard.
#include "core/formats/known/knownfunctions.h"
#include "core/formats/known/mlscores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::formats
{

using base::inputError;
using OperandNames = FunctionWriter::Names;

namespace
{

/// (x − offset)·scale, one number per feature or one for all.
Written writeScaler(FunctionWriter& body)
{
    const std::vector<double> offset = body.numbers("offset");
    const std::vector<double> scale = body.numbers("scale");
    if (offset.empty() || offset.size() != scale.size()) {
        return inputError(fmt::format("offset has {} numbers and scale {}; both need one per feature, or one",
                                      offset.size(), scale.size()));
    }
    const std::string centred = body.add("Sub", {asFloats(body), body.floats(offset)});
    body.output(0, body.add("Mul", {centred, body.floats(scale)}));
    return true;
}

/// x divided by the largest element of its row, where that is not 0.
std::string dividedByLargest(FunctionWriter& body, const std::string& x)
{
    const std::string most = body.add("ReduceMax", {x}, {{"axes", std::vector<std::int64_t>{-1}}}, 13);
    const std::string isZero = body.add("Equal", {most, body.floats({0}, {})});
    return body.add("Div", {x, body.add("Where", {isZero, body.floats({1}, {}), most})});
}

Written writeNormalizer(FunctionWriter& body)
{
    const std::string norm = body.text("norm", "MAX");
    if (norm != "MAX" && norm != "L1" && norm != "L2") {
        return inputError(fmt::format("norm '{}' is not known; MAX, L1 and L2 are", norm));
    }
    const std::string x = asFloats(body);
    body.output(0, norm == "MAX" ? dividedByLargest(body, x)
                                 : body.add("LpNormalization", {x},
                                            {{"axis", std::int64_t{-1}}, {"p", std::int64_t{norm == "L1" ? 1 : 2}}}));
    return true;
}

/// 1 where x is above the threshold, else 0.
Written writeBinarizer(FunctionWriter& body)
{
    const std::string isAbove = body.add("Greater", {asFloats(body), body.floats({body.number("threshold", 0)}, {})});
    body.output(0, body.add("Cast", {isAbove}, {{"to", std::int64_t{1}}})); // float32
    return true;
}

/// Where x is what stands for a missing number.
std::string missingFloats(FunctionWriter& body, const std::string& x)
{
    const double missing = body.number("replaced_value_float", 0);
    return std::isnan(missing) ? body.add("IsNaN", {x}) : body.add("Equal", {x, body.floats({missing}, {})});
}

Written writeImputer(FunctionWriter& body)
{
    if (body.has("imputed_value_int64s")) {
        const std::string missing = body.integers({body.integer("replaced_value_int64", 0)});
        const std::string isMissing = body.add("Equal", {body.operand(0), missing});
        body.output(
            0, body.add("Where", {isMissing, body.integers(body.integers("imputed_value_int64s")), body.operand(0)}));
        return true;
    }
    if (body.numbers("imputed_value_floats").empty()) {
        return inputError("Imputer needs imputed_value_floats or imputed_value_int64s");
    }
    const std::string x = asFloats(body);
    body.output(0, body.add("Where", {missingFloats(body, x), body.floats(body.numbers("imputed_value_floats")), x}));
    return true;
}

/// Columns of the last axis by position; a result has at least two axes.
Written writeArrayFeatureExtractor(FunctionWriter& body)
{
    const std::string positions = body.add("Reshape", {body.operand(1), body.integers({-1})});
    const std::string picked = body.add("Gather", {body.operand(0), positions}, {{"axis", std::int64_t{-1}}});
    body.output(0, body.rank(0).value_or(1) > 1 ? picked : body.add("Expand", {picked, body.integers({1, 1})}));
    return true;
}

/// coefficients (targets × features), intercepts, post_transform.
Written writeLinearRegressor(FunctionWriter& body)
{
    const std::vector<double> coefficients = body.numbers("coefficients");
    std::vector<double> intercepts = body.numbers("intercepts");
    const std::int64_t targets = body.integer("targets", 1);
    const auto count = static_cast<std::int64_t>(coefficients.size());
    if (targets < 1 || count == 0 || count % targets != 0) {
        return inputError(fmt::format("{} coefficients do not divide among {} targets", count, targets));
    }
    if (!intercepts.empty() && static_cast<std::int64_t>(intercepts.size()) != targets) {
        return inputError(fmt::format("intercepts has {} numbers for {} targets", intercepts.size(), targets));
    }
    OperandNames operands{asFloats(body), body.floats(coefficients, {targets, count / targets})};
    if (!intercepts.empty()) {
        operands.push_back(body.floats(intercepts));
    }
    const std::string y = body.add("Gemm", operands, {{"transB", std::int64_t{1}}});
    RETRO_TRY(const std::string result, withPostTransform(body, y));
    body.output(0, result);
    return true;
}

/// The list of a LabelEncoder: keys or values of one type.
struct LabelList
{
    std::vector<std::int64_t> integers;
    std::vector<double> floats;
    std::vector<std::string> texts;
    [[nodiscard]] std::size_t size() const { return integers.size() + floats.size() + texts.size(); }
};

LabelList labelList(const FunctionWriter& body, const std::string& which)
{
    return {body.integers(which + "_int64s"), body.numbers(which + "_floats"), body.texts(which + "_strings")};
}

std::string listConstant(FunctionWriter& body, const LabelList& list)
{
    return !list.texts.empty()    ? body.textList(list.texts)
           : !list.floats.empty() ? body.floats(list.floats)
                                  : body.integers(list.integers);
}

std::string defaultOf(FunctionWriter& body, const LabelList& values)
{
    if (!values.texts.empty()) {
        return body.textList({body.text("default_string", "_Unused")});
    }
    return !values.floats.empty() ? body.floats({body.number("default_float", -0.0)})
                                  : body.integers({body.integer("default_int64", -1)});
}

/// Whether x is a key, per key; NaN is one key like others.
std::string isKey(FunctionWriter& body, const std::string& x, const LabelList& keys)
{
    const std::string list = listConstant(body, keys);
    const std::string isEqual = body.add("Equal", {x, list});
    if (std::none_of(keys.floats.begin(), keys.floats.end(), [](double key) { return std::isnan(key); })) {
        return isEqual;
    }
    const std::string areNan = body.add("And", {body.add("IsNaN", {x}), body.add("IsNaN", {list})});
    return body.add("Or", {isEqual, areNan});
}

/// The value that stands where x stands among the keys (the first that fits), or the default.
Written writeLabelEncoder(FunctionWriter& body)
{
    if (body.has("keys_tensor") || body.has("values_tensor") || body.has("classes_strings")) {
        return inputError("LabelEncoder with keys_tensor, values_tensor or classes_strings is not supported; write it "
                          "with keys_int64s or keys_floats and values_int64s or values_floats");
    }
    const LabelList keys = labelList(body, "keys");
    const LabelList values = labelList(body, "values");
    if (!keys.texts.empty()) {
        return inputError("its keys are texts, which are not read; encode them before the model");
    }
    if (keys.size() == 0 || keys.size() != values.size()) {
        return inputError(fmt::format("LabelEncoder has {} keys and {} values", keys.size(), values.size()));
    }
    const std::string x = body.add("Unsqueeze", {body.operand(0), body.integers({-1})});
    const std::string number = body.add("Cast", {isKey(body, x, keys)}, {{"to", std::int64_t{7}}}); // int64
    const std::string at = body.add("ArgMax", {number}, {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}});
    const std::string count = body.add("ReduceSum", {number, body.integers({-1})}, {{"keepdims", std::int64_t{0}}});
    const std::string isKnown = body.add("Greater", {count, body.integers({0})});
    const std::string value = body.add("Gather", {listConstant(body, values), at});
    body.output(0, body.add("Where", {isKnown, value, defaultOf(body, values)}));
    return true;
}

/// 1 at the category of each element, along a new last axis.
Written writeOneHotEncoder(FunctionWriter& body)
{
    const std::vector<std::int64_t> categories = body.integers("cats_int64s");
    if (categories.empty() || body.integer("zeros", 1) == 0) {
        return inputError("OneHotEncoder is supported with cats_int64s and zeros = 1");
    }
    const std::string x = body.add("Cast", {body.operand(0)}, {{"to", std::int64_t{7}}}); // int64
    const std::string wide = body.add("Unsqueeze", {x, body.integers({-1})});
    const std::string isThis = body.add("Equal", {wide, body.integers(categories)});
    body.output(0, body.add("Cast", {isThis}, {{"to", std::int64_t{1}}})); // float32
    return true;
}

/// Operands side by side; each has the number of features that is declared.
Written writeFeatureVectorizer(FunctionWriter& body)
{
    const std::vector<std::int64_t> widths = body.integers("inputdimensions");
    if (widths.size() != body.operandCount()) {
        return inputError(
            fmt::format("inputdimensions has {} numbers for {} operands", widths.size(), body.operandCount()));
    }
    OperandNames parts;
    for (std::size_t slot = 0; slot < widths.size(); ++slot) {
        const std::string x = body.add("Cast", {body.operand(slot)}, {{"to", std::int64_t{1}}}); // float32
        const std::string wide = body.add("Expand", {x, body.integers({1, 1})});
        parts.push_back(body.add("Reshape", {wide, body.integers({0, widths[slot]})}));
    }
    body.output(0, body.add("Concat", parts, {{"axis", std::int64_t{1}}}));
    return true;
}

/// A map per sample, which the file's readers make of the rows again: the rows.
Written writeZipMap(FunctionWriter& body)
{
    body.output(0, body.operand(0));
    return true;
}

} // namespace

const FunctionFamily kMachineLearningFunctions{
    {"ai.onnx.ml", "Scaler", "Sub, Mul", writeScaler},
    {"ai.onnx.ml", "Normalizer", "LpNormalization or Div", writeNormalizer},
    {"ai.onnx.ml", "Binarizer", "Greater, Cast", writeBinarizer},
    {"ai.onnx.ml", "Imputer", "Equal or IsNaN, Where", writeImputer},
    {"ai.onnx.ml", "ArrayFeatureExtractor", "Gather", writeArrayFeatureExtractor},
    {"ai.onnx.ml", "LinearRegressor", "Gemm, Softmax or Sigmoid", writeLinearRegressor},
    {"ai.onnx.ml", "LabelEncoder", "Equal, ArgMax, Gather, Where", writeLabelEncoder},
    {"ai.onnx.ml", "OneHotEncoder", "Equal, Cast", writeOneHotEncoder},
    {"ai.onnx.ml", "FeatureVectorizer", "Concat", writeFeatureVectorizer},
    {"ai.onnx.ml", "ZipMap", "Identity", writeZipMap},
};

} // namespace retro::formats
