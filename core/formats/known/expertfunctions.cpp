// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts of com.microsoft: MoE, and QMoE with packed weights. Each expert is written out as the layers
// that it is; tokens that chose others are rows of zeros there, which are not multiplied.
#include "core/formats/known/knownfunctions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

namespace retro::formats
{

using base::inputError;

namespace
{

constexpr std::int64_t kMostExperts = 1024; ///< more are a fault in the file, and many nodes
constexpr std::int64_t kTopKOpset = 11;
constexpr std::int64_t kEqualParts = 18; ///< version since which Split makes a number of equal parts

/// Operand slots of one layer of all experts; none for what it does not have.
struct ExpertLayer
{
    std::size_t weights = 0;
    std::size_t bias = 0;
    std::optional<std::size_t> scales = {};
    std::optional<std::size_t> zeros = {};
};

constexpr std::size_t kRouterLogits = 1;
constexpr std::size_t kRouterWeights = 14; // of QMoE

/// What is the same for all experts.
struct ExpertSetting
{
    std::array<ExpertLayer, 3> layers; ///< first, second, and the one beside the first
    std::int64_t experts = 0;
    std::int64_t columns = 0; ///< of the operand
    std::int64_t chosen = 1;  ///< experts per token
    std::int64_t bits = 0;    ///< 0: weights are numbers
    bool hasThird = false;
    std::string activation;
    std::int64_t fusion = 0;
    std::optional<double> limit;
};

/// The options that say how weights are packed and tokens are mixed are of those that are known.
base::Result<void> checkExpertOptions(FunctionWriter& body, const ExpertSetting& setting, bool isPacked)
{
    if (isPacked && setting.bits != 2 && setting.bits != 4 && setting.bits != 8) {
        return inputError(fmt::format("expert_weight_bits is {}, but must be 2, 4 or 8", setting.bits));
    }
    if (const std::string type = body.text("quant_type", "int"); type != "int") {
        return inputError(fmt::format("quant_type '{}' is not supported; only 'int' is", type));
    }
    if (body.integer("use_sparse_mixer", 0) != 0) {
        return inputError("use_sparse_mixer is not supported");
    }
    return {};
}

/// Of one axis of the weights of experts: times the weights of a byte it still is a number of 64 bits.
constexpr std::int64_t kMostExpertExtent = std::int64_t{1} << 40;

/// Checks the weights of one layer of all experts. The first layer says how many experts and columns there are.
base::Result<void> takeExpertLayer(FunctionWriter& body, ExpertSetting& setting, std::size_t which)
{
    const ExpertLayer& layer = setting.layers.at(which);
    const auto shape = body.constantShape(layer.weights);
    const bool isFirst = which == 0;
    if (!shape || shape->size() != 3 || (!isFirst && shape->front() != setting.experts)) {
        return inputError(fmt::format("the weights of its experts (operand {}) must be an initializer, experts × "
                                      "rows × columns",
                                      layer.weights));
    }
    if (std::ranges::any_of(*shape, [](std::int64_t extent) { return extent < 0 || extent > kMostExpertExtent; })) {
        return inputError(fmt::format("the weights of its experts (operand {}) have the shape {}, which no file holds; "
                                      "export the model again",
                                      layer.weights, tensor::toText(*shape)));
    }
    if (layer.scales && !body.isGiven(*layer.scales)) {
        return inputError(fmt::format("the scales of its experts (operand {}) are missing", *layer.scales));
    }
    if (isFirst) {
        setting.experts = shape->front();
        setting.columns = setting.bits != 0 ? (*shape)[2] * (8 / setting.bits) : (*shape)[2];
    }
    return {};
}

base::Result<void> takeExpertActivation(FunctionWriter& body, ExpertSetting& setting)
{
    setting.activation = body.text("activation_type", "relu");
    setting.fusion = body.integer("swiglu_fusion", 0);
    if (body.has("swiglu_limit")) {
        setting.limit = body.number("swiglu_limit", 0);
    }
    const bool isGated = setting.activation == "swiglu";
    static constexpr std::array<std::string_view, 4> kPlain{"relu", "gelu", "silu", "identity"};
    if (!isGated && std::find(kPlain.begin(), kPlain.end(), setting.activation) == kPlain.end()) {
        return inputError(fmt::format("activation_type '{}' is not known; relu, gelu, silu, swiglu and identity are",
                                      setting.activation));
    }
    if (isGated && (setting.fusion < 0 || setting.fusion > 2 || (setting.fusion == 0) != setting.hasThird)) {
        return inputError(fmt::format("swiglu_fusion is {}; 0 needs the weights of a third layer (operand {}), 1 and 2 "
                                      "have none",
                                      setting.fusion, setting.layers[2].weights));
    }
    return {};
}

base::Result<ExpertSetting> expertSetting(FunctionWriter& body, bool isPacked)
{
    ExpertSetting setting;
    setting.layers = isPacked
                         ? std::array{ExpertLayer{2, 4, 3, 11}, ExpertLayer{5, 7, 6, 12}, ExpertLayer{8, 10, 9, 13}}
                         : std::array{ExpertLayer{2, 3}, ExpertLayer{4, 5}, ExpertLayer{6, 7}};
    setting.bits = isPacked ? body.integer("expert_weight_bits", 4) : 0;
    RETRO_CHECK(checkExpertOptions(body, setting, isPacked));
    setting.hasThird = body.isGiven(setting.layers[2].weights);
    RETRO_CHECK(takeExpertLayer(body, setting, 0));
    RETRO_CHECK(takeExpertLayer(body, setting, 1));
    if (setting.hasThird) {
        RETRO_CHECK(takeExpertLayer(body, setting, 2));
    }
    if (setting.experts < 1 || setting.experts > kMostExperts || setting.columns < 1) {
        return inputError(fmt::format("it has {} experts (operand {}); between 1 and {} are supported", setting.experts,
                                      setting.layers[0].weights, kMostExperts));
    }
    setting.chosen = body.integer("k", 1);
    if (setting.chosen < 1 || setting.chosen > setting.experts) {
        return inputError(fmt::format("k is {}, but there are {} experts", setting.chosen, setting.experts));
    }
    RETRO_CHECK(takeExpertActivation(body, setting));
    return setting;
}

/// x·Wᵀ + b of one expert.
std::string expertProduct(FunctionWriter& body, const ExpertSetting& setting, std::size_t which, std::int64_t expert,
                          const std::string& x)
{
    const ExpertLayer& layer = setting.layers.at(which);
    const auto given = [&](std::optional<std::size_t> slot) {
        return slot && body.isGiven(*slot) ? body.operand(*slot) : std::string();
    };
    FunctionWriter::Names operands{x, body.operand(layer.weights), given(layer.bias)};
    graph::Attributes attributes{{"expert", expert}};
    if (setting.bits != 0) {
        operands.push_back(given(layer.scales));
        operands.push_back(given(layer.zeros));
        attributes["bits"] = setting.bits;
        attributes["block_size"] = body.integer("block_size", 0);
    }
    while (operands.back().empty()) {
        operands.pop_back();
    }
    return body.addOf("retrograde", "ExpertProduct", operands, std::move(attributes), 1, 1).front();
}

/// G·σ(α·G)·(L + β), G and L kept inside the limit.
std::string gated(FunctionWriter& body, const ExpertSetting& setting, std::string g, std::string l)
{
    if (setting.limit) {
        const std::string most = body.numberLikeOperand(*setting.limit);
        g = body.add("Clip", {g, "", most});
        l = body.add("Clip", {l, body.numberLikeOperand(-*setting.limit), most});
    }
    if (const double beta = body.number("activation_beta", 0); beta != 0) {
        l = body.add("Add", {l, body.numberLikeOperand(beta)});
    }
    return body.add("Mul", {swish(body, g, body.number("activation_alpha", 1)), l});
}

/// Every second element of the last axis, from `first` on.
std::string everySecond(FunctionWriter& body, const std::string& x, std::int64_t first)
{
    return body.add("Slice", {x, body.integers({first}), body.integers({std::numeric_limits<std::int64_t>::max()}),
                              body.integers({-1}), body.integers({2})});
}

/// What goes into the second layer of an expert.
std::string hiddenLayer(FunctionWriter& body, const ExpertSetting& setting, std::int64_t expert, const std::string& x)
{
    const std::string first = expertProduct(body, setting, 0, expert, x);
    const std::string third = setting.hasThird ? expertProduct(body, setting, 2, expert, x) : std::string();
    if (setting.activation == "swiglu") {
        if (setting.fusion == 1) {
            return gated(body, setting, everySecond(body, first, 0), everySecond(body, first, 1));
        }
        if (setting.fusion == 2) {
            const FunctionWriter::Names parts = body.addOf(
                "", "Split", {first}, {{"axis", std::int64_t{-1}}, {"num_outputs", std::int64_t{2}}}, kEqualParts, 2);
            return gated(body, setting, parts[0], parts[1]);
        }
        return gated(body, setting, first, third);
    }
    std::string made = first;
    if (setting.activation == "relu") {
        made = body.add("Relu", {first});
    } else if (setting.activation == "gelu") {
        made = geluByTanh(body, first);
    } else if (setting.activation == "silu") {
        made = swish(body, first, 1);
    }
    return setting.hasThird ? body.add("Mul", {made, third}) : made;
}

/// A column per expert, as far as it is known before shapes are.
base::Result<void> expectRouter(const FunctionWriter& body, std::int64_t experts)
{
    for (const std::size_t slot : {kRouterLogits, kRouterWeights}) {
        const std::optional<std::int64_t> columns = body.width(slot);
        const std::optional<std::size_t> axes = body.rank(slot);
        const char* const name = slot == kRouterLogits ? "router_probs" : "router_weights";
        if (columns && *columns != experts) {
            return inputError(fmt::format("{} (operand {}) has {} columns, but there are {} experts (operand 2); it "
                                          "must have one column per expert",
                                          name, slot, *columns, experts));
        }
        if (axes && *axes != 2) {
            return inputError(
                fmt::format("{} (operand {}) has {} axes, but must be tokens × experts", name, slot, *axes));
        }
    }
    return {};
}

/// What the router says, which must have a row per token and a column per expert.
std::string ofRouter(FunctionWriter& body, std::size_t slot, const std::string& x, std::int64_t experts)
{
    const std::string tokens = body.add("Shape", {x}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
    const std::string shape = body.add("Concat", {tokens, body.integers({experts})}, {{"axis", std::int64_t{0}}});
    return body.addAs(slot == kRouterLogits ? "router_probs by token and expert" : "router_weights by token and expert",
                      "Reshape", {body.operand(slot), shape});
}

/// How much each of the chosen experts counts, tokens × chosen.
std::string expertShares(FunctionWriter& body, const ExpertSetting& setting, const std::string& x,
                         const std::string& logits, const FunctionWriter::Names& best)
{
    const bool isNormalised = body.integer("normalize_routing_weights", 0) != 0;
    const graph::Attributes last{{"axis", std::int64_t{-1}}};
    if (body.isGiven(kRouterWeights)) {
        const std::string weights = ofRouter(body, kRouterWeights, x, setting.experts);
        const std::string own = body.add("GatherElements", {weights, best[1]}, last);
        return isNormalised ? body.add("Div", {own, body.add("ReduceSum", {own, body.integers({-1})})}) : own;
    }
    if (isNormalised) {
        return body.add("Softmax", {best[0]}, last);
    }
    return body.add("GatherElements", {body.add("Softmax", {logits}, last), best[1]}, last);
}

base::Result<bool> writeExperts(FunctionWriter& body, bool isPacked)
{
    RETRO_TRY(const ExpertSetting setting, expertSetting(body, isPacked));
    RETRO_CHECK(expectRouter(body, setting.experts));
    const bool isFlat = body.rank(0) == std::size_t{2};
    const std::string x =
        isFlat ? body.operand(0) : body.add("Reshape", {body.operand(0), body.integers({-1, setting.columns})});
    const std::string logits = ofRouter(body, kRouterLogits, x, setting.experts);
    const FunctionWriter::Names best =
        body.addOf("", "TopK", {logits, body.integers({setting.chosen})}, {{"axis", std::int64_t{-1}}}, kTopKOpset, 2);
    // one column more, of zeros, for the experts that a token did not choose
    const std::string shares =
        body.add("Pad", {expertShares(body, setting, x, logits, best), body.integers({0, 0, 0, 1})});
    std::vector<std::int64_t> columns(static_cast<std::size_t>(setting.chosen));
    std::iota(columns.begin(), columns.end(), std::int64_t{0});
    const std::string order = body.integers(columns);
    const std::string none = body.integers({setting.chosen});
    const std::string zero = body.numberLikeOperand(0);
    const std::string last = body.integers({-1});
    FunctionWriter::Names terms;
    for (std::int64_t expert = 0; expert < setting.experts; ++expert) {
        const std::string isOwn = body.add("Equal", {best[1], body.integers({expert})});
        const std::string place = body.add("ReduceMin", {body.add("Where", {isOwn, order, none}), last});
        const std::string share = body.add("GatherElements", {shares, place}, {{"axis", std::int64_t{-1}}});
        const std::string takes = body.add("Less", {place, none});
        const std::string inside = hiddenLayer(body, setting, expert, body.add("Where", {takes, x, zero}));
        const std::string made = expertProduct(body, setting, 1, expert, body.add("Where", {takes, inside, zero}));
        terms.push_back(body.add("Mul", {share, made}));
    }
    const std::string sum = body.add("Sum", terms);
    body.output(0, isFlat ? sum : body.add("Reshape", {sum, body.add("Shape", {body.operand(0)})}));
    return true;
}

Written writeMoE(FunctionWriter& body) { return writeExperts(body, false); }
Written writeQMoE(FunctionWriter& body) { return writeExperts(body, true); }

} // namespace

const FunctionFamily kExpertFunctions{
    {"com.microsoft", "MoE", "TopK, Softmax, Where, ExpertProduct, activation, Mul, Sum", writeMoE},
    {"com.microsoft", "QMoE", "TopK, Softmax, Where, ExpertProduct, activation, Mul, Sum", writeQMoE},
};

} // namespace retro::formats
