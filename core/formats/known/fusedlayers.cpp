// SPDX-License-Identifier: Apache-2.0
// Layers with an activation behind them, and products with transposes before them, as ONNX Runtime's optimiser joins
// them.
#include "core/formats/known/channelslast.h"
#include "core/formats/known/knownfunctions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace retro::formats
{

using base::inputError;
using graph::Attributes;

namespace
{

using Axes = std::vector<std::int64_t>;

/// An activation that a fused layer may name, and which of its numbers are which attribute.
struct FusedActivation
{
    std::string_view op;
    std::vector<std::string> numbers; ///< in the order of activation_params
};

const FusedActivation* activationNamed(const std::string& name)
{
    static const std::array kKnown{
        FusedActivation{"Relu", {}},
        FusedActivation{"Sigmoid", {}},
        FusedActivation{"Tanh", {}},
        FusedActivation{"Softplus", {}},
        FusedActivation{"Softsign", {}},
        FusedActivation{"HardSwish", {}},
        FusedActivation{"LeakyRelu", {"alpha"}},
        FusedActivation{"Elu", {"alpha"}},
        FusedActivation{"ThresholdedRelu", {"alpha"}},
        FusedActivation{"HardSigmoid", {"alpha", "beta"}},
        FusedActivation{"Selu", {"alpha", "gamma"}},
        FusedActivation{"Clip", {"min", "max"}}, // they are operands
    };
    const auto at = std::find_if(kKnown.begin(), kKnown.end(), [&name](const auto& one) { return one.op == name; });
    return at == kKnown.end() ? nullptr : &*at;
}

base::Error unknownActivation(const std::string& name)
{
    return inputError(fmt::format("the activation '{}' is not known; save the model without it (optimisation level "
                                  "basic)",
                                  name));
}

/// The activation that `activation` and `activation_params` say, behind `x`; none is none.
base::Result<std::string> withListedActivation(FunctionWriter& body, const std::string& x)
{
    const std::string name = body.text("activation", "");
    if (name.empty()) {
        return x;
    }
    const FusedActivation* known = activationNamed(name);
    if (known == nullptr) {
        return unknownActivation(name);
    }
    const std::vector<double> numbers = body.numbers("activation_params");
    if (numbers.size() != known->numbers.size()) {
        return inputError(fmt::format("activation_params has {} numbers, and {} takes {}", numbers.size(), name,
                                      known->numbers.size()));
    }
    if (name == "Clip") {
        const std::string least = body.numberLikeOperand(numbers[0]);
        return body.add("Clip", {x, least, body.numberLikeOperand(numbers[1])});
    }
    Attributes attributes;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        attributes[known->numbers[i]] = numbers[i];
    }
    return body.add(known->op, {x}, std::move(attributes));
}

/// The activation that `activation`, `activation_alpha` and its like say, behind `x`.
base::Result<std::string> withNamedActivation(FunctionWriter& body, const std::string& x)
{
    const std::string name = body.text("activation", "");
    if (name.empty()) {
        return x;
    }
    const FusedActivation* known = activationNamed(name);
    if (known == nullptr || name == "Clip") { // there are no attributes for its bounds
        return unknownActivation(name);
    }
    Attributes attributes;
    for (const std::string& number : known->numbers) {
        if (!body.has("activation_" + number)) {
            return inputError(fmt::format("the activation {} needs the attribute 'activation_{}'", name, number));
        }
        attributes[number] = body.number("activation_" + number, 0);
    }
    return body.add(known->op, {x}, std::move(attributes));
}

FunctionWriter::Names layerOperands(const FunctionWriter& body)
{
    FunctionWriter::Names operands{body.operand(0), body.operand(1)};
    if (body.isGiven(2)) {
        operands.push_back(body.operand(2));
    }
    return operands;
}

const std::vector<std::string>& convolutionAttributes()
{
    static const std::vector<std::string> kNames{"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"};
    return kNames;
}

/// Conv, plus operand 3, then the activation.
Written writeFusedConvolution(FunctionWriter& body)
{
    std::string y = body.add("Conv", layerOperands(body), body.pick(convolutionAttributes()));
    if (body.isGiven(3)) {
        y = body.add("Add", {y, body.operand(3)});
    }
    RETRO_TRY(const std::string result, withListedActivation(body, y));
    body.output(0, result);
    return true;
}

/// As FusedConv, of batch × positions × channels.
Written writeChannelsLastConvolution(FunctionWriter& body)
{
    const auto rank = channelsLastRank(body);
    if (!rank) {
        return inputError("how many axes its operand has is not known; give it a kernel_shape");
    }
    FunctionWriter::Names operands = layerOperands(body);
    operands[0] = body.add("Transpose", {operands[0]}, {{"perm", channelsFirst(*rank)}});
    std::string y = body.add("Conv", operands, body.pick(convolutionAttributes()));
    if (body.isGiven(3)) {
        y = body.add("Add", {y, body.add("Transpose", {body.operand(3)}, {{"perm", channelsFirst(*rank)}})});
    }
    RETRO_TRY(const std::string result, withListedActivation(body, y));
    body.output(0, body.add("Transpose", {result}, {{"perm", channelsLast(*rank)}}));
    return true;
}

Written writeChannelsLastMaxPool(FunctionWriter& body)
{
    const auto rank = channelsLastRank(body);
    if (!rank) {
        return inputError("kernel_shape is missing");
    }
    const std::string x = body.add("Transpose", {body.operand(0)}, {{"perm", channelsFirst(*rank)}});
    const std::string y =
        body.add("MaxPool", {x}, body.pick({"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "strides"}));
    body.output(0, body.add("Transpose", {y}, {{"perm", channelsLast(*rank)}}));
    return true;
}

Written writeFusedGemm(FunctionWriter& body)
{
    const std::string y = body.add("Gemm", layerOperands(body), body.pick({"alpha", "beta", "transA", "transB"}));
    RETRO_TRY(const std::string result, withNamedActivation(body, y));
    body.output(0, result);
    return true;
}

/// One operand of a product: its first axis put before the last one (`isBatchMoved`), then the last two swapped.
struct ProductSide
{
    std::size_t slot;
    bool isSwapped;
    bool isBatchMoved;
    [[nodiscard]] bool isPlain() const { return !isSwapped && !isBatchMoved; }
};

/// The operand in the order in which it is read; by Einsum, whatever its axes are, where their number is not known.
std::string turned(FunctionWriter& body, const ProductSide& side, const std::string& operand)
{
    if (side.isPlain()) {
        return operand;
    }
    const std::size_t rank = body.rank(side.slot).value_or(0);
    if (rank < (side.isBatchMoved ? 3U : 2U)) {
        const std::string axes = side.isBatchMoved ? "i...jk" : "...jk";
        const std::string order = side.isBatchMoved ? (side.isSwapped ? "...jki" : "...jik") : "...kj";
        return body.add("Einsum", {operand}, {{"equation", fmt::format("{}->{}", axes, order)}});
    }
    Axes order(rank);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    if (side.isBatchMoved) {
        std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
    }
    if (side.isSwapped) {
        std::swap(order[rank - 1], order[rank - 2]);
    }
    return body.add("Transpose", {operand}, {{"perm", order}});
}

/// Transposes, MatMul, and the factor.
///
/// Before constant weights the factor stands at operand 0: ONNX Runtime's optimiser takes it from there, also the last
/// factor of an activation that is written out (½ of Gelu), which is known again only where the factor is.
Written writeFusedProduct(FunctionWriter& body)
{
    const double alpha = body.number("alpha", 1);
    const bool isFactorFirst = alpha != 1 && body.constantShape(1).has_value();
    FunctionWriter::Names operands;
    for (const ProductSide& side :
         {ProductSide{0, body.integer("transA", 0) != 0, body.integer("transBatchA", 0) != 0},
          ProductSide{1, body.integer("transB", 0) != 0, body.integer("transBatchB", 0) != 0}}) {
        std::string operand = body.operand(side.slot);
        if (side.slot == 0 && isFactorFirst) {
            operand = body.add("Mul", {operand, body.numberLikeOperand(alpha)});
        }
        operands.push_back(turned(body, side, operand));
    }
    std::string y = body.add("MatMul", operands);
    if (alpha != 1 && !isFactorFirst) {
        y = body.add("Mul", {y, body.numberLikeOperand(alpha)});
    }
    body.output(0, y);
    return true;
}

/// That of the standard.
Written writeTriangle(FunctionWriter& body)
{
    FunctionWriter::Names operands{body.operand(0)};
    if (body.isGiven(1)) {
        operands.push_back(body.operand(1));
    }
    body.output(0, body.add("Trilu", operands, body.pick({"upper"})));
    return true;
}

} // namespace

const FunctionFamily kFusedLayerFunctions{
    {"com.microsoft", "FusedConv", "Conv, Add, activation", writeFusedConvolution},
    {"com.microsoft", "NhwcFusedConv", "Transpose, Conv, Add, activation, Transpose", writeChannelsLastConvolution},
    {"com.microsoft", "NhwcMaxPool", "Transpose, MaxPool, Transpose", writeChannelsLastMaxPool},
    {"com.microsoft", "FusedGemm", "Gemm, activation", writeFusedGemm},
    {"com.microsoft", "FusedMatMul", "Transpose, MatMul, Mul", writeFusedProduct},
    {"com.microsoft", "TransposeMatMul", "Transpose, MatMul, Mul", writeFusedProduct},
    {"com.microsoft", "Trilu", "Trilu", writeTriangle},
};

} // namespace retro::formats
