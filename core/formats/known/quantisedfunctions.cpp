// SPDX-License-Identifier: Apache-2.0
// Functions and layers of the standard between quantised values, which com.microsoft calls QLinear….
#include "core/formats/known/channelslast.h"
#include "core/formats/known/knownfunctions.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::formats
{

namespace
{

constexpr std::int64_t kOpset = 13; ///< version of ai.onnx of the functions

/// Slots of a call. A quantised operand is followed by its scale and zero point, and so is the scale of the result by
/// its zero point.
struct QuantisedCall
{
    std::string_view function;  ///< of the standard
    std::size_t first = 0;      ///< the first quantised operand
    std::size_t count = 1;      ///< of quantised operands; 0: all that follow
    std::size_t result = 3;     ///< the scale of the result
    bool isConditional = false; ///< operand 0 is not quantised and comes first
};

constexpr QuantisedCall kAdd{"Add", 0, 2, 6};
constexpr QuantisedCall kMul{"Mul", 0, 2, 6};
constexpr QuantisedCall kLeakyRelu{"LeakyRelu"};
constexpr QuantisedCall kSigmoid{"Sigmoid"};
constexpr QuantisedCall kSoftmax{"Softmax"};
constexpr QuantisedCall kAveragePool{"AveragePool"};
constexpr QuantisedCall kGlobalAveragePool{"GlobalAveragePool"};
constexpr QuantisedCall kReduceMean{"ReduceMean"};
constexpr QuantisedCall kConcat{"Concat", 2, 0, 0};
constexpr QuantisedCall kWhere{"Where", 1, 2, 7, true};

/// Channels of floats put to axis 1, or back to the end; by Einsum where the number of axes is not known.
std::string withChannels(FunctionWriter& body, const std::string& x, bool toFront)
{
    if (const auto rank = channelsLastRank(body)) {
        return body.add("Transpose", {x}, {{"perm", toFront ? channelsFirst(*rank) : channelsLast(*rank)}});
    }
    return body.add("Einsum", {x}, {{"equation", std::string(toFront ? "n...c->nc..." : "nc...->n...c")}});
}

/// Each operand dequantised, the function, and its result quantised.
template <const QuantisedCall& call>
Written writeQuantised(FunctionWriter& body)
{
    const std::size_t given = body.operandCount() - std::min(call.first, body.operandCount());
    const std::size_t count = call.count == 0 ? (given + 2) / 3 : call.count;
    FunctionWriter::Names operands;
    if (call.isConditional) {
        operands.push_back(body.operand(0));
    }
    for (std::size_t slot = call.first; slot < call.first + 3 * count; slot += 3) {
        if (!body.isGiven(slot) || !body.isGiven(slot + 1)) {
            return base::inputError(fmt::format("operand {} is missing", body.isGiven(slot) ? slot + 1 : slot));
        }
        operands.push_back(body.dequantised(slot, slot + 1, slot + 2));
    }
    const bool areChannelsLast = body.integer("channels_last", 0) != 0;
    if (areChannelsLast) {
        operands[0] = withChannels(body, operands[0], true);
    }
    std::string made = body.add(call.function, operands,
                                body.pick({"alpha", "auto_pad", "axes", "axis", "ceil_mode", "count_include_pad",
                                           "dilations", "keepdims", "kernel_shape", "pads", "strides"}),
                                body.integer("opset", kOpset));
    if (areChannelsLast) {
        made = withChannels(body, made, false);
    }
    FunctionWriter::Names last{made, body.operand(call.result)};
    if (body.isGiven(call.result + 1)) {
        last.push_back(body.operand(call.result + 1));
    }
    body.output(0, body.add("QuantizeLinear", last));
    return true;
}

/// That of the standard; channels that come last are put to axis 1 and back.
Written writeQuantisedConvolution(FunctionWriter& body)
{
    constexpr std::size_t kWeight = 3;
    FunctionWriter::Names operands;
    for (std::size_t slot = 0; slot < body.operandCount(); ++slot) {
        operands.push_back(body.isGiven(slot) ? body.operand(slot) : std::string());
    }
    const graph::Attributes attributes =
        body.pick({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
    if (body.integer("channels_last", 0) == 0) {
        body.output(0, body.add("QLinearConv", operands, attributes));
        return true;
    }
    const auto rank = body.rank(kWeight) ? body.rank(kWeight) : channelsLastRank(body);
    if (!rank || *rank < 3) {
        return base::inputError("its channels come last, but nothing says how many axes its weights (operand 3) have");
    }
    operands[0] = body.add("Transpose", {operands[0]}, {{"perm", channelsFirst(*rank)}});
    const std::string made = body.add("QLinearConv", operands, attributes);
    body.output(0, body.add("Transpose", {made}, {{"perm", channelsLast(*rank)}}));
    return true;
}

} // namespace

const FunctionFamily kQuantisedFunctions{
    {"com.microsoft", "QLinearConv", "Transpose, QLinearConv, Transpose", writeQuantisedConvolution},
    {"com.microsoft", "QLinearAdd", "DequantizeLinear, Add, QuantizeLinear", writeQuantised<kAdd>},
    {"com.microsoft", "QLinearMul", "DequantizeLinear, Mul, QuantizeLinear", writeQuantised<kMul>},
    {"com.microsoft", "QLinearLeakyRelu", "DequantizeLinear, LeakyRelu, QuantizeLinear", writeQuantised<kLeakyRelu>},
    {"com.microsoft", "QLinearSigmoid", "DequantizeLinear, Sigmoid, QuantizeLinear", writeQuantised<kSigmoid>},
    {"com.microsoft", "QLinearSoftmax", "DequantizeLinear, Softmax, QuantizeLinear", writeQuantised<kSoftmax>},
    {"com.microsoft", "QLinearAveragePool", "DequantizeLinear, AveragePool, QuantizeLinear",
     writeQuantised<kAveragePool>},
    {"com.microsoft", "QLinearGlobalAveragePool", "DequantizeLinear, GlobalAveragePool, QuantizeLinear",
     writeQuantised<kGlobalAveragePool>},
    {"com.microsoft", "QLinearReduceMean", "DequantizeLinear, ReduceMean, QuantizeLinear", writeQuantised<kReduceMean>},
    {"com.microsoft", "QLinearConcat", "DequantizeLinear, Concat, QuantizeLinear", writeQuantised<kConcat>},
    {"com.microsoft", "QLinearWhere", "DequantizeLinear, Where, QuantizeLinear", writeQuantised<kWhere>},
};

} // namespace retro::formats
