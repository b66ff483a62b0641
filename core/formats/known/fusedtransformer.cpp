// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime's optimiser joins in transformers: biased activations, normalisations of sums, embeddings; SwiGLU
// of the standard.
#include "core/formats/known/channelslast.h"
#include "core/formats/known/knownfunctions.h"

#include <fmt/format.h>

namespace retro::formats
{

using base::inputError;

namespace
{

std::string withOperand(FunctionWriter& body, const std::string& x, std::size_t slot)
{
    return body.isGiven(slot) ? body.add("Add", {x, body.operand(slot)}) : x;
}

/// Of operand 0 and, where it is given, the bias.
Written writeGelu(FunctionWriter& body)
{
    body.output(0, body.add("Gelu", {withOperand(body, body.operand(0), 1)}));
    return true;
}

Written writeFastGelu(FunctionWriter& body)
{
    body.output(0, geluByTanh(body, withOperand(body, body.operand(0), 1)));
    return true;
}

Written writeQuickGelu(FunctionWriter& body)
{
    body.output(0, swish(body, body.operand(0), body.number("alpha", 1.702)));
    return true;
}

/// a·σ(αa)·b of two operands of one shape.
Written writeSwiGlu(FunctionWriter& body)
{
    body.output(0, body.add("Mul", {swish(body, body.operand(0), body.number("alpha", 1)), body.operand(1)}));
    return true;
}

/// Skip has the tokens of operand 0, and as many images or one for all of them, as far as shapes are known.
base::Result<void> expectSameTokens(const FunctionWriter& body)
{
    const auto rank = body.rank(0);
    const auto skipRank = body.rank(1);
    const bool areRanksRight =
        !rank || ((*rank == 2 || *rank == 3) && (!skipRank || *skipRank == *rank || (*skipRank == 2 && *rank == 3)));
    if (!areRanksRight) {
        return inputError(fmt::format("operand 0 has {} axes and skip (operand 1) {}; they must be batch × tokens × "
                                      "width or tokens × width, and skip may be without the batch",
                                      *rank, skipRank ? fmt::to_string(*skipRank) : "an unknown number"));
    }
    const auto tokens = body.extentFromEnd(0, 2);
    const auto skipTokens = body.extentFromEnd(1, 2);
    if (tokens && skipTokens && *tokens != *skipTokens) {
        return inputError(fmt::format("skip (operand 1) has {} tokens (its second last axis), but operand 0 has {}; "
                                      "they must be the same",
                                      *skipTokens, *tokens));
    }
    const auto images = body.extentFromEnd(0, 3);
    const auto skipImages = body.extentFromEnd(1, 3);
    if (images && skipImages && *images != *skipImages && *skipImages != 1) {
        return inputError(fmt::format("skip (operand 1) is of {} images, but operand 0 of {}; they must be as many, or "
                                      "skip one for all",
                                      *skipImages, *images));
    }
    return {};
}

/// Skip has the last axis of operand 0, and gamma, beta and bias (all operands behind it) have one axis, as far as
/// shapes are known.
base::Result<void> expectSkipShapes(const FunctionWriter& body)
{
    RETRO_CHECK(expectSameTokens(body));
    const auto own = body.width(0);
    const auto other = body.width(1);
    if (own && other && *own != *other) {
        return inputError(
            fmt::format("skip (operand 1) has {} elements along its last axis, but operand 0 has {}; they "
                        "must be the same",
                        *other, *own));
    }
    for (std::size_t slot = 2; slot < body.operandCount(); ++slot) {
        const auto rank = body.isGiven(slot) ? body.rank(slot) : std::nullopt;
        if (rank && *rank != 1) {
            return inputError(fmt::format("operand {} has {} axes, but must have one, as long as the last axis of "
                                          "operand 0",
                                          slot, *rank));
        }
    }
    return {};
}

/// The sum that is normalised. The bias joins the product that makes an operand, of which it is the bias.
std::string skipSum(FunctionWriter& body, std::size_t bias)
{
    if (!body.isGiven(bias)) {
        return body.add("Add", {body.operand(0), body.operand(1)});
    }
    const std::size_t layer = body.producer(1).ends_with("MatMul") && !body.producer(0).ends_with("MatMul") ? 1 : 0;
    const std::string biased = body.add("Add", {body.operand(layer), body.operand(bias)});
    return layer == 0 ? body.add("Add", {biased, body.operand(1)}) : body.add("Add", {body.operand(0), biased});
}

Written writeSkipLayerNormalization(FunctionWriter& body)
{
    RETRO_CHECK(expectSkipShapes(body));
    const std::string sum = skipSum(body, 4);
    FunctionWriter::Names operands{sum, body.operand(2)};
    if (body.isGiven(3)) {
        operands.push_back(body.operand(3));
    }
    const std::size_t asked = body.isAsked(2) ? 3 : body.isAsked(1) ? 2 : 1;
    const auto results = body.addOf("", "LayerNormalization", operands,
                                    {{"axis", std::int64_t{-1}}, {"epsilon", body.number("epsilon", 1e-12)}}, 0, asked);
    for (std::size_t k = 0; k < asked; ++k) {
        body.output(k, results[k]);
    }
    body.output(3, sum);
    return true;
}

/// Outputs 1 and 2, in float32: the mean, which is 0 as none is subtracted, and 1/√(mean of squares + epsilon).
void addStatistics(FunctionWriter& body, const std::string& sum, double epsilon)
{
    const std::string wide = body.add("Cast", {sum}, {{"to", std::int64_t{1}}});
    const std::string square = body.add("ReduceMean", {body.add("Mul", {wide, wide}), body.integers({-1})});
    body.output(1, body.add("Expand", {body.floats({0}), body.add("Shape", {square})}));
    body.output(2, body.add("Reciprocal", {body.add("Sqrt", {body.add("Add", {square, body.floats({epsilon})})})}));
}

Written writeSkipSimplified(FunctionWriter& body)
{
    RETRO_CHECK(expectSkipShapes(body));
    const std::string sum = skipSum(body, 3);
    const double epsilon = body.number("epsilon", 1e-12);
    body.output(0, body.add("SimplifiedLayerNormalization", {sum, body.operand(2)},
                            {{"axis", std::int64_t{-1}}, {"epsilon", epsilon}}));
    if (body.isAsked(1) || body.isAsked(2)) {
        addStatistics(body, sum, epsilon);
    }
    body.output(3, sum);
    return true;
}

/// Operands of EmbedLayerNormalization.
struct EmbedSlot
{
    enum : std::size_t { kTokens, kSegments, kWords, kPositions, kSegmentTable, kGamma, kBeta, kMask, kPositionIds };
};

/// Rows of the table of positions, by position_ids or one per token.
std::string positionRows(FunctionWriter& body)
{
    if (body.isGiven(EmbedSlot::kPositionIds)) {
        return body.add("Gather", {body.operand(EmbedSlot::kPositions), body.operand(EmbedSlot::kPositionIds)});
    }
    const std::string extents =
        body.add("Shape", {body.operand(EmbedSlot::kTokens)}, {{"start", std::int64_t{1}}, {"end", std::int64_t{2}}});
    const std::string rows =
        body.add("Slice", {body.operand(EmbedSlot::kPositions), body.integers({0}), extents, body.integers({0})});
    const auto known = body.extentFromEnd(EmbedSlot::kPositions, 2);
    if (body.extentFromEnd(EmbedSlot::kTokens, 1) || (known && *known > 1)) {
        return rows;
    }
    // One row would be added to every token.
    const std::string shape = body.add("Concat", {extents, body.integers({0})}, {{"axis", std::int64_t{0}}});
    return body.add("Reshape", {rows, shape});
}

/// The table of positions has a row for each token, as far as shapes are known.
base::Result<void> expectPositions(const FunctionWriter& body)
{
    const auto rows = body.extentFromEnd(EmbedSlot::kPositions, 2);
    const auto tokens = body.extentFromEnd(EmbedSlot::kTokens, 1);
    return !body.isGiven(EmbedSlot::kPositionIds) && rows && tokens && *tokens > *rows
               ? inputError(fmt::format("the table of positions (operand 3) has {} row{}, but there are {} tokens",
                                        *rows, *rows == 1 ? "" : "s", *tokens))
               : base::Result<void>();
}

/// Output 1: how many tokens of each row the mask keeps; 0 without a mask.
void countTokens(FunctionWriter& body)
{
    if (!body.isAsked(1)) {
        return;
    }
    const bool hasMask = body.isGiven(EmbedSlot::kMask);
    const std::string tokens = body.operand(hasMask ? EmbedSlot::kMask : EmbedSlot::kTokens);
    std::string counted = body.add("Cast", {tokens}, {{"to", std::int64_t{6}}}); // int32
    if (!hasMask) {
        counted = body.add("Sub", {counted, counted});
    }
    body.output(1, body.add("ReduceSum", {counted, body.integers({1})}, {{"keepdims", std::int64_t{0}}}));
}

Written writeEmbedLayerNormalization(FunctionWriter& body)
{
    for (const std::size_t slot : {EmbedSlot::kWords, EmbedSlot::kPositions, EmbedSlot::kGamma, EmbedSlot::kBeta}) {
        if (!body.isGiven(slot)) {
            return inputError("EmbedLayerNormalization needs tables of words and positions, gamma and beta");
        }
    }
    RETRO_CHECK(expectPositions(body));
    std::string sum = body.add("Gather", {body.operand(EmbedSlot::kWords), body.operand(EmbedSlot::kTokens)});
    sum = body.add("Add", {sum, positionRows(body)});
    if (body.isGiven(EmbedSlot::kSegmentTable)) { // without numbers of segments, all are the first one
        const bool areGiven = body.isGiven(EmbedSlot::kSegments);
        const std::string segments = areGiven ? body.operand(EmbedSlot::kSegments) : body.integers({0});
        sum = body.add("Add", {sum, body.add("Gather", {body.operand(EmbedSlot::kSegmentTable), segments})});
    }
    body.output(0,
                body.add("LayerNormalization", {sum, body.operand(EmbedSlot::kGamma), body.operand(EmbedSlot::kBeta)},
                         {{"axis", std::int64_t{-1}}, {"epsilon", body.number("epsilon", 1e-12)}}));
    countTokens(body);
    body.output(2, sum);
    return true;
}

/// Softmax of a sum, over all axes from `axis` on.
Written writeBiasSoftmax(FunctionWriter& body)
{
    const std::string sum = body.add("Add", {body.operand(0), body.operand(1)});
    body.output(0, body.add("Softmax", {sum}, {{"axis", body.integer("axis", 1)}}, 11));
    return true;
}

Written writeBiasAdd(FunctionWriter& body)
{
    body.output(0, withOperand(body, withOperand(body, body.operand(0), 1), 2));
    return true;
}

/// In inference: the operand, the bias and the residual.
Written writeBiasDropout(FunctionWriter& body)
{
    if (body.isGiven(4)) {
        return inputError("BiasDropout has an operand that says whether it trains; export the model for inference");
    }
    body.output(0, withOperand(body, withOperand(body, body.operand(0), 1), 2));
    return true;
}

/// GroupNormalization, then x·σ(x) where asked, of batch × height × width × channels or with channels second.
std::string groupNormalised(FunctionWriter& body, const std::string& x, bool isLast)
{
    const std::string first = isLast ? body.add("Transpose", {x}, {{"perm", channelsFirst(4)}}) : x;
    std::string y = body.add("GroupNormalization", {first, body.operand(1), body.operand(2)},
                             {{"num_groups", body.integer("groups", 0)}, {"epsilon", body.number("epsilon", 1e-5)}});
    if (body.integer("activation", 0) != 0) {
        y = swish(body, y, 1);
    }
    return isLast ? body.add("Transpose", {y}, {{"perm", channelsLast(4)}}) : y;
}

Written writeGroupNorm(FunctionWriter& body)
{
    body.output(0, groupNormalised(body, body.operand(0), body.integer("channels_last", 1) != 0));
    return true;
}

Written writeSkipGroupNorm(FunctionWriter& body)
{
    const std::string sum = withOperand(body, body.add("Add", {body.operand(0), body.operand(3)}), 4);
    body.output(0, groupNormalised(body, sum, body.integer("channels_last", 1) != 0));
    body.output(1, sum);
    return true;
}

} // namespace

std::string swish(FunctionWriter& body, const std::string& x, double alpha)
{
    constexpr std::int64_t kSinceOpset = 24;
    return body.add("Swish", {x}, {{"alpha", alpha}}, kSinceOpset);
}

std::string geluByTanh(FunctionWriter& body, const std::string& x)
{
    return body.add("Gelu", {x}, {{"approximate", std::string("tanh")}});
}

const FunctionFamily kFusedTransformerFunctions{
    {"", "SwiGLU", "Swish, Mul", writeSwiGlu},
    {"com.microsoft", "Gelu", "Gelu", writeGelu},
    {"com.microsoft", "BiasGelu", "Add, Gelu", writeGelu},
    {"com.microsoft", "FastGelu", "Add, Gelu", writeFastGelu},
    {"com.microsoft", "QuickGelu", "Swish", writeQuickGelu},
    {"com.microsoft", "SkipLayerNormalization", "Add, LayerNormalization", writeSkipLayerNormalization},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", "Add, SimplifiedLayerNormalization", writeSkipSimplified},
    {"com.microsoft", "EmbedLayerNormalization", "Gather, Add, LayerNormalization", writeEmbedLayerNormalization},
    {"com.microsoft", "BiasSoftmax", "Add, Softmax", writeBiasSoftmax},
    {"com.microsoft", "BiasAdd", "Add", writeBiasAdd},
    {"com.microsoft", "BiasDropout", "Add", writeBiasDropout},
    {"com.microsoft", "GroupNorm", "Transpose, GroupNormalization, Swish, Transpose", writeGroupNorm},
    {"com.microsoft", "SkipGroupNorm", "Add, Transpose, GroupNormalization, Swish, Transpose", writeSkipGroupNorm},
};

} // namespace retro::formats
