// SPDX-License-Identifier: Apache-2.0
#include "tests/core/engine/gradientgraphcases.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>

namespace retro::tests
{

Tensor drawn(const Shape& shape, std::uint32_t seed)
{
    std::minstd_rand engine(seed + 1);
    std::vector<double> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    std::ranges::generate(values, [&engine] { return static_cast<double>(engine() % 2000) / 1000 + 0.05; });
    return Tensor::of<double>(shape, values);
}

Tensor ints(const std::vector<std::int64_t>& values)
{
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

namespace
{

void addMore(Cases& all)
{
    using Ints = std::vector<std::int64_t>;
    const Shape square{2, 3};
    for (const char* op : {"Asinh", "Atan", "Celu", "Cosh", "Elu", "HardSigmoid", "HardSwish", "Mish", "Selu", "Sinh",
                           "Softsign", "Tan", "ThresholdedRelu"}) {
        all.push_back({op, {op, {square}, {}, {}, 1, 18}});
    }
    for (const char* op :
         {"Elu", "Celu", "Selu", "HardSwish", "Mish", "PRelu", "HardSigmoid"}) { // on both sides of zero
        all.push_back({std::string(op) + " negative", {op, {square}, {}, {}, 1, 18}});
        all.back().second.shift = -1.1;
        if (std::string(op) == "PRelu") {
            all.back().second.inputs.push_back({3});
        }
    }
    for (const char* op : {"Asin", "Acos", "Atanh", "Acosh"}) {
        all.push_back({op, {op, {square}, {}, {}}});
        all.back().second.shift = std::string(op) == "Acosh" ? 1.0 : -1.05;
        all.back().second.scale = std::string(op) == "Acosh" ? 1.0 : 0.9;
    }
    all.push_back({"Shrink", {"Shrink", {{4, 5}}, {}, {{"lambd", 0.6}, {"bias", 0.2}}}});
    all.back().second.shift = -1.1; // below, within and above
    all.push_back({"Gelu", {"Gelu", {square}, {}, {}, 1, 20}});
    all.push_back({"Gelu, tanh", {"Gelu", {square}, {}, {{"approximate", std::string("tanh")}}, 1, 20}});
    all.push_back({"Swish", {"Swish", {square}, {}, {{"alpha", 1.5}}, 1, 24}});
    all.push_back({"Clip", {"Clip", {{4, 5}}, {Tensor::scalar(0.4), Tensor::scalar(1.5)}, {}}});
    all.push_back({"Clip, old", {"Clip", {{4, 5}}, {}, {{"min", 0.4}, {"max", 1.5}}, 1, 10}});
    for (const char* op : {"Max", "Min", "Mean"}) {
        all.push_back({op, {op, {{4, 2, 3}, {2, 1}, {4, 2, 3}}, {}, {}}});
    }
    for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMin",
                           "ReduceProd", "ReduceSumSquare"}) {
        all.push_back({op, {op, {{2, 3, 4}}, {}, {{"axes", Ints{0, -1}}}}});
        all.push_back({std::string(op) + " without axes",
                       {op, {{2, 3, 4}}, {ints({1})}, {{"keepdims", std::int64_t{0}}}, 1, 18}});
    }
    // A zero among the factors: alone in its row, and with others.
    for (const std::int64_t axis : {1, 2}) {
        all.push_back({"ReduceProd of zeros, axis " + std::to_string(axis),
                       {"ReduceProd", {{2, 1, 3}}, {}, {{"axes", Ints{axis}}}}});
        all.back().second.scale = 0;
    }
    for (const std::int64_t size : {1, 2, 3, 9}) { // even windows lean to one side
        all.push_back({"LRN, size " + std::to_string(size),
                       {"LRN", {{2, 5, 3, 2}}, {}, {{"size", size}, {"alpha", 0.7}, {"beta", 0.6}, {"bias", 1.5}}}});
    }
    for (const std::int64_t p : {1, 2}) {
        const Attributes norm{{"axis", std::int64_t{1}}, {"p", p}};
        all.push_back({"LpNormalization, p " + std::to_string(p), {"LpNormalization", {{2, 5, 3}}, {}, norm}});
        all.back().second.shift = -1.1;
        all.push_back({"LpNormalization of zeros, p " + std::to_string(p), {"LpNormalization", {{2, 5}}, {}, norm}});
        all.back().second.scale = 0;
    }
    all.push_back({"GlobalMaxPool", {"GlobalMaxPool", {{2, 3, 4, 5}}, {}, {}}});
    all.push_back({"RMSNormalization", {"RMSNormalization", {{2, 3, 4}}, {drawn({4}, 1)}, {}, 1, 23}});
    all.push_back(
        {"InstanceNormalization", {"InstanceNormalization", {{2, 3, 4, 5}}, {drawn({3}, 1), drawn({3}, 2)}, {}}});
    all.push_back({"GroupNormalization",
                   {"GroupNormalization",
                    {{2, 6, 4, 5}},
                    {drawn({6}, 1), drawn({6}, 2)},
                    {{"num_groups", std::int64_t{3}}},
                    1,
                    21}});
    all.push_back({"Gather many", {"Gather", {{2, 5, 3}}, {ints({1, -1, 1, 4})}, {{"axis", std::int64_t{1}}}}});
    all.push_back({"Gather rows", {"Gather", {{5, 3}}, {ints({0, 2, 2}).reshaped({3, 1})}, {}}});
    all.push_back({"GatherElements", {"GatherElements", {{3, 3}}, {ints({1, 2, 0, 2, 0, 0}).reshaped({2, 3})}, {}}});
    all.push_back({"GatherND", {"GatherND", {{3, 3}}, {ints({1, 2, 1, 2}).reshaped({2, 2})}, {}}});
    all.push_back({"ScatterND", {"ScatterND", {{4, 3}}, {ints({2, 0}).reshaped({2, 1}), drawn({2, 3}, 4)}, {}}});
    all.push_back(
        {"ScatterElements", {"ScatterElements", {{4, 3}}, {ints({2, 0, 1}).reshaped({1, 3}), drawn({1, 3}, 4)}, {}}});
    all.push_back({"Tile", {"Tile", {{2, 3}}, {ints({3, 2})}, {}}});
    all.push_back({"Trilu", {"Trilu", {{4, 4}}, {Tensor::scalar<std::int64_t>(1)}, {{"upper", std::int64_t{0}}}}});
    all.push_back({"DepthToSpace", {"DepthToSpace", {{1, 8, 2, 3}}, {}, {{"blocksize", std::int64_t{2}}}}});
    all.push_back({"SpaceToDepth", {"SpaceToDepth", {{1, 2, 4, 6}}, {}, {{"blocksize", std::int64_t{2}}}}});
    for (const std::int64_t isExclusive : {0, 1}) {
        all.push_back({isExclusive != 0 ? "CumSum, exclusive" : "CumSum",
                       {"CumSum", {{2, 4}}, {Tensor::scalar<std::int64_t>(1)}, {{"exclusive", isExclusive}}}});
    }
    const auto addTransform = [&all](const char* how, const Shape& shape, const std::vector<Tensor>& length,
                                     std::int64_t axis, std::int64_t isInverse, std::int64_t isOneSided) {
        all.push_back(
            {std::string("DFT ") + how,
             {"DFT", {shape}, length, {{"axis", axis}, {"inverse", isInverse}, {"onesided", isOneSided}}, 1, 17}});
    };
    addTransform("one-sided", {2, 7, 1}, {}, 1, 0, 1);
    addTransform("inverse, inside", {2, 5, 3, 2}, {}, 1, 1, 0);
    addTransform("filled up", {2, 3, 5, 2}, {Tensor::scalar<std::int64_t>(8)}, 2, 0, 0);
    addTransform("cut off", {2, 6, 1}, {Tensor::scalar<std::int64_t>(4)}, 1, 0, 0);
    for (const std::int64_t parts : {1, 2}) {
        all.push_back({parts == 1 ? "STFT" : "STFT, complex",
                       {"STFT",
                        {{2, 21, parts}},
                        {Tensor::scalar<std::int64_t>(3), drawn({6}, 5)},
                        {{"onesided", std::int64_t{2} - parts}},
                        1,
                        17}});
    }
    all.push_back({"Einsum", {"Einsum", {{2, 3, 4}, {2, 4, 5}}, {}, {{"equation", std::string("bij, bjk -> bik")}}}});
    all.push_back(
        {"Einsum, moved", {"Einsum", {{2, 3}, {3, 4}, {4, 2}}, {}, {{"equation", std::string("ab,bc,ca->ac")}}}});
    const auto addEquation = [&all](const char* equation, const std::vector<Shape>& shapes) {
        all.push_back(
            {std::string("Einsum ") + equation, {"Einsum", shapes, {}, {{"equation", std::string(equation)}}}});
    };
    addEquation("...ij,...jk->...ik", {{2, 5, 3, 4}, {2, 5, 4, 2}});
    addEquation("...ij,jk->...ik", {{2, 5, 3, 4}, {4, 2}});
    addEquation("i...,...j->j...i", {{3, 2, 5}, {2, 5, 4}});
    addEquation("b...,...->b", {{3, 2, 5}, {5}}); // the second has fewer axes behind its dots
    addEquation("ij->j", {{3, 4}});
    addEquation("ij,jk->k", {{3, 4}, {4, 2}});
    addEquation("ij->", {{3, 4}});
    addEquation("bA,bB", {{3, 4}, {3, 2}});
    addEquation("ij,ji", {{3, 4}, {4, 3}});
    const std::vector<float> factors{1, 1, 2, 3};
    const Tensor scales = Tensor::of<float>({4}, factors);
    all.push_back({"Resize",
                   {"Resize",
                    {{1, 2, 3, 2}},
                    {Tensor::of<float>({0}, std::vector<float>()), scales},
                    {{"mode", std::string("nearest")}}}});
}

/// Weights, scales and shifts that are inputs.
void addParameters(Cases& all)
{
    using Ints = std::vector<std::int64_t>;
    const Shape image{2, 4, 7, 6};
    const Attributes strided{
        {"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 1}}, {"group", std::int64_t{2}}, {"dilations", Ints{1, 2}}};
    all.push_back({"Conv, weight", {"Conv", {image, {6, 2, 3, 2}, {6}}, {}, strided}});
    all.push_back({"Conv, line", {"Conv", {{2, 3, 9}, {4, 3, 2}}, {}, {{"strides", Ints{3}}}}});
    for (const char* how : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
        all.push_back({std::string("Conv ") + how,
                       {"Conv", {image, {6, 4, 2, 3}}, {}, {{"auto_pad", std::string(how)}, {"strides", Ints{2, 1}}}}});
    }
    Attributes longer = strided;
    longer["output_padding"] = Ints{1, 0};
    all.push_back({"ConvTranspose, weight", {"ConvTranspose", {image, {4, 3, 3, 3}, {6}}, {}, longer}});
    all.push_back({"ConvTranspose, one window more",
                   {"ConvTranspose",
                    {{1, 1, 3}, {1, 1, 1}},
                    {},
                    {{"strides", Ints{2}}, {"dilations", Ints{3}}, {"output_padding", Ints{2}}}}});
    all.push_back({"BatchNormalization, all", {"BatchNormalization", {image, {4}, {4}, {4}, {4}}, {}, {}}});
    all.push_back(
        {"LayerNormalization, all", {"LayerNormalization", {{2, 3, 4}, {4}, {3, 1}}, {}, {{"axis", std::int64_t{1}}}}});
    all.push_back({"LayerNormalization, last", {"LayerNormalization", {{2, 3, 4}, {4}, {4}}, {}, {}}});
    all.push_back({"RMSNormalization, all", {"RMSNormalization", {{2, 3, 4}, {4}}, {}, {}, 1, 23}});
    all.push_back({"InstanceNormalization, all", {"InstanceNormalization", {image, {4}, {4}}, {}, {}}});
    all.push_back({"GroupNormalization, all",
                   {"GroupNormalization", {image, {4}, {4}}, {}, {{"num_groups", std::int64_t{2}}}, 1, 21}});
    all.push_back({"MatMul, row", {"MatMul", {{3}, {2, 3, 4}}, {}, {}}});
    all.push_back({"MatMul, column", {"MatMul", {{2, 3, 4}, {4}}, {}, {}}});
    all.push_back({"MatMul, vectors", {"MatMul", {{3}, {3}}, {}, {}}});
    for (const bool isMasked : {true, false}) {
        Case one{"DeformConv",
                 {{2, 4, 5, 6}, {6, 2, 3, 2}, {2, 24, 3, 3}, {6}},
                 {},
                 {{"strides", Ints{2, 2}},
                  {"pads", Ints{1, 0, 1, 1}},
                  {"group", std::int64_t{2}},
                  {"offset_group", std::int64_t{2}}},
                 1,
                 19};
        if (isMasked) {
            one.inputs.push_back({2, 12, 3, 3});
        }
        all.push_back({isMasked ? "DeformConv, masked" : "DeformConv", one});
        one.shift = -1.1;
        one.scale = 1.7; // far outside
        all.push_back({isMasked ? "DeformConv, masked, far" : "DeformConv, far", one});
    }
}

/// Windows at borders, and what lies between places.
void addWindows(Cases& all)
{
    using Ints = std::vector<std::int64_t>;
    const Shape image{1, 3, 7, 6};
    const Attributes padded{{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 0}}};
    all.push_back({"AveragePool, padded", {"AveragePool", {image}, {}, padded}});
    Attributes counted = padded;
    counted["count_include_pad"] = std::int64_t{1};
    counted["ceil_mode"] = std::int64_t{1};
    all.push_back({"AveragePool, sticking out", {"AveragePool", {image}, {}, counted, 1, 19}});
    counted.erase("count_include_pad");
    all.push_back({"AveragePool, sticking out, of its own", {"AveragePool", {image}, {}, counted, 1, 19}});
    all.push_back(
        {"AveragePool, same",
         {"AveragePool", {image}, {}, {{"kernel_shape", Ints{3, 2}}, {"auto_pad", std::string("SAME_UPPER")}}}});
    all.push_back({"LpPool", {"LpPool", {image}, {}, padded}});
    Attributes cubed = padded;
    cubed["p"] = std::int64_t{3};
    all.push_back({"LpPool, p 3, both signs", {"LpPool", {image}, {}, cubed}});
    all.back().second.shift = -1.1;
    all.push_back({"LpPool of zeros", {"LpPool", {image}, {}, padded}});
    all.back().second.scale = 0;
    const Tensor none = Tensor::of<float>({0}, std::vector<float>());
    const std::vector<float> factors{1, 1, 0.6F, 2.5F};
    const Tensor scales = Tensor::of<float>({4}, factors);
    for (const char* mode : {"nearest", "linear", "cubic"}) {
        for (const char* how : {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"}) {
            all.push_back({std::string("Resize ") + mode + ", " + how,
                           {"Resize",
                            {image},
                            {none, scales},
                            {{"mode", std::string(mode)}, {"coordinate_transformation_mode", std::string(how)}},
                            1,
                            18}});
        }
    }
    all.push_back({"Resize antialias",
                   {"Resize",
                    {image},
                    {none, none, ints({1, 3, 3, 9})},
                    {{"mode", std::string("linear")}, {"antialias", std::int64_t{1}}},
                    1,
                    18}});
    const std::vector<float> region{0, 0, -0.3F, 0.2F, 1, 1, 0.8F, 1.4F};
    all.push_back({"Resize, region",
                   {"Resize",
                    {image},
                    {Tensor::of<float>({8}, region), none, ints({1, 3, 5, 5})},
                    {{"mode", std::string("linear")},
                     {"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
                     {"extrapolation_value", 4.0}},
                    1,
                    18}});
    const std::vector<float> doubled{1, 1, 2, 3};
    all.push_back({"Upsample",
                   {"Upsample", {image}, {Tensor::of<float>({4}, doubled)}, {{"mode", std::string("linear")}}, 1, 9}});
    for (const auto& [start, end, step] : {std::array{1, 100, 2}, std::array{-1, -100, -1}, std::array{5, 0, -3}}) {
        all.push_back({"Slice in steps of " + std::to_string(step),
                       {"Slice", {{2, 7}}, {ints({start}), ints({end}), ints({1}), ints({step})}, {}}});
    }
    for (const char* op : {"Softmax", "LogSoftmax"}) {
        all.push_back({std::string(op) + ", lines", {op, {{2, 3, 4}}, {}, {{"axis", std::int64_t{1}}}, 1, 12}});
    }
    all.push_back({"Cast", {"Cast", {{2, 3}}, {}, {{"to", std::int64_t{1}}}}});
    all.push_back({"CastLike", {"CastLike", {{2, 3}}, {Tensor::scalar(1.0F)}, {}}});
}

/// Exponents that are computed, of other types, and zeros on both sides.
void addPowers(Cases& all)
{
    const std::vector<double> exponents{0, 2, -1};
    const Tensor someZero = Tensor::of<double>({3}, exponents);
    all.push_back({"Pow, exponent computed", {"Pow", {{4, 2, 3}, {2, 1}}, {}, {}}});
    all.push_back({"Pow, base broadcast", {"Pow", {{2, 1}, {4, 2, 3}}, {}, {}}});
    all.push_back({"Pow of zeros", {"Pow", {{2, 3}, {2, 3}}, {}, {}}});
    all.back().second.scale = 0;
    all.push_back({"Pow, zero among the exponents", {"Pow", {{2, 3}}, {someZero}, {}}});
    all.push_back({"Pow, integer exponent", {"Pow", {{2, 3}}, {ints({3})}, {}}});
    all.push_back({"Pow, old", {"Pow", {{2, 3}, {2, 3}}, {}, {}, 1, 9}});
}

/// What chooses elements or puts them in another order.
void addSelections(Cases& all)
{
    using Ints = std::vector<std::int64_t>;
    for (const std::int64_t isLargest : {1, 0}) {
        const std::string name = isLargest != 0 ? "TopK" : "TopK, smallest";
        const Attributes along{{"axis", std::int64_t{1}}, {"largest", isLargest}};
        all.push_back({name, {"TopK", {{3, 5, 2}}, {ints({2})}, along}});
        all.push_back({name + ", places at hand", {"TopK", {{3, 5, 2}}, {ints({2})}, along, 2}});
        all.back().second.isOfFirst = true;
    }
    const std::vector<std::uint8_t> flags{1, 0, 0, 1, 1};
    const Tensor chosen = Tensor::of<std::uint8_t>({5}, flags).to(tensor::DType::Bool);
    for (const std::int64_t opset : {9, 17}) {
        const std::string of = ", opset " + std::to_string(opset);
        all.push_back({"Compress" + of, {"Compress", {{3, 6}}, {chosen}, {{"axis", std::int64_t{-1}}}, 1, opset}});
        all.push_back({"Compress, flat" + of, {"Compress", {{3, 6}}, {chosen}, {}, 1, opset}});
    }
    all.push_back({"ReverseSequence", {"ReverseSequence", {{4, 3, 2}}, {ints({2, 4, 0})}, {}}});
    all.push_back({"ReverseSequence, batch first",
                   {"ReverseSequence",
                    {{3, 4}},
                    {ints({3, 1, 4})},
                    {{"batch_axis", std::int64_t{0}}, {"time_axis", std::int64_t{1}}},
                    1,
                    10}});
    for (const std::int64_t opset : {9, 10}) {
        const Tensor places = ints({2, 0, 1, 0, 3, 4}).reshaped({2, 3});
        const std::string of = ", opset " + std::to_string(opset);
        all.push_back({"Scatter" + of, {"Scatter", {{5, 3}}, {places, drawn({2, 3}, 4)}, {}, 1, opset}});
        all.push_back({"Scatter, updates" + of, {"Scatter", {{5, 3}, {2, 3}}, {places}, {}, 1, opset}});
        all.back().second.order = {0, 2, 1};
    }
    all.push_back(
        {"ScatterElements, updates", {"ScatterElements", {{5, 3}, {1, 2}}, {ints({4, -5}).reshaped({1, 2})}, {}}});
    all.back().second.order = {0, 2, 1};
    all.push_back({"ScatterND, updates", {"ScatterND", {{4, 3}, {2, 3}}, {ints({2, 0}).reshaped({2, 1})}, {}}});
    all.back().second.order = {0, 2, 1};
    all.push_back({"ScatterElements, updates written over",
                   {"ScatterElements",
                    {{5, 3}, {2, 3}},
                    {ints({4, -1, 0, -1, 1, 0}).reshaped({2, 3})},
                    {{"axis", std::int64_t{0}}}}});
    all.back().second.order = {0, 2, 1};
    all.push_back(
        {"ScatterND, updates written over", {"ScatterND", {{4, 3}, {3, 3}}, {ints({2, 0, -2}).reshaped({3, 1})}, {}}});
    all.back().second.order = {0, 2, 1};
    all.push_back({"GatherND, batch axes",
                   {"GatherND",
                    {{2, 3, 4, 2}},
                    {ints({1, -1, 1, 2, 0, 3, 2, 1, 0, 1, 0, 1}).reshaped({2, 3, 1, 2}).reshaped({2, 3, 2})},
                    {{"batch_dims", std::int64_t{1}}}}});
    all.push_back(
        {"DepthToSpace, CRD",
         {"DepthToSpace", {{2, 12, 2, 3}}, {}, {{"blocksize", std::int64_t{2}}, {"mode", std::string("CRD")}}}});
    all.push_back({"CenterCropPad", {"CenterCropPad", {{5, 4, 3}}, {ints({2, 7, 3})}, {}, 1, 18}});
    all.push_back(
        {"CenterCropPad, some axes", {"CenterCropPad", {{5, 4, 6}}, {ints({9, 3})}, {{"axes", Ints{-3, 2}}}, 1, 18}});
}

/// What the standard has for a few models only.
void addRare(Cases& all)
{
    using Ints = std::vector<std::int64_t>;
    for (const std::int64_t isExclusive : {0, 1}) {
        for (const std::int64_t isReverse : {0, 1}) {
            const std::string how =
                std::string(isExclusive != 0 ? ", exclusive" : "") + (isReverse != 0 ? ", reverse" : "");
            const Attributes running{{"exclusive", isExclusive}, {"reverse", isReverse}};
            const Case one{"CumProd", {{2, 4, 3}}, {Tensor::scalar<std::int64_t>(1)}, running, 1, 26};
            all.push_back({"CumProd" + how, one});
            all.push_back({"CumProd of zeros" + how, one});
            all.back().second.scale = 0;
        }
    }
    all.push_back({"Mod", {"Mod", {{4, 2, 3}, {2, 1}}, {}, {{"fmod", std::int64_t{1}}}}});
    all.push_back({"Mod, negative", {"Mod", {{4, 3}, {4, 3}}, {}, {{"fmod", std::int64_t{1}}}}});
    all.back().second.shift = -1.1;
    all.push_back({"MeanVarianceNormalization", {"MeanVarianceNormalization", {{2, 3, 4, 5}}, {}, {}}});
    all.push_back({"MeanVarianceNormalization, other axes",
                   {"MeanVarianceNormalization", {{3, 4}}, {}, {{"axes", Ints{-1}}}, 1, 9}});
    all.push_back({"MeanVarianceNormalization of one number", {"MeanVarianceNormalization", {{2, 3, 4, 5}}, {}, {}}});
    all.back().second.scale = 0;
    all.push_back({"SimplifiedLayerNormalization, all", {"SimplifiedLayerNormalization", {{2, 3, 4}, {4}}, {}, {}}});
    for (const std::int64_t p : {1, 2, 3}) {
        all.push_back({"GlobalLpPool, p " + std::to_string(p), {"GlobalLpPool", {{2, 3, 4, 2}}, {}, {{"p", p}}}});
        all.back().second.shift = -1.1;
    }
    all.push_back({"GlobalLpPool of zeros", {"GlobalLpPool", {{2, 3, 4, 2}}, {}, {}}});
    all.back().second.scale = 0;
    all.push_back({"GroupNormalization, scale per group",
                   {"GroupNormalization", {{2, 6, 3, 2}, {3}, {3}}, {}, {{"num_groups", std::int64_t{3}}}, 1, 18}});
    const Attributes pairs{{"interleaved", std::int64_t{1}}, {"rotary_embedding_dim", std::int64_t{4}}};
    const Tensor positions = ints({1, 4, 0, 2, 2, 3}).reshaped({2, 3});
    all.push_back({"RotaryEmbedding",
                   {"RotaryEmbedding", {{2, 2, 3, 4}}, {drawn({2, 3, 2}, 1), drawn({2, 3, 2}, 2)}, {}, 1, 23}});
    all.push_back({"RotaryEmbedding, in pairs",
                   {"RotaryEmbedding", {{2, 2, 3, 6}}, {drawn({5, 2}, 1), drawn({5, 2}, 2), positions}, pairs, 1, 23}});
}

/// In operator sets whose operators have another form, or cannot add where they scatter.
void addOlder(Cases& all)
{
    using Ints = std::vector<std::int64_t>;
    const Shape image{2, 3, 7, 6};
    for (const std::int64_t opset : {9, 10, 11, 13, 15}) {
        const std::string of = ", opset " + std::to_string(opset);
        all.push_back({"Concat" + of, {"Concat", {{2, 3}, {2, 1}}, {}, {{"axis", std::int64_t{1}}}, 1, opset}});
        all.push_back({"Gemm" + of, {"Gemm", {{2, 3}, {3, 4}, {4}}, {}, {{"alpha", 0.5}}, 1, opset}});
        all.push_back({"Conv, weight" + of, {"Conv", {image, {4, 3, 3, 2}}, {}, {{"strides", Ints{2, 2}}}, 1, opset}});
        all.push_back({"MaxPool apart" + of,
                       {"MaxPool", {image}, {}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 3}}}, 1, opset}});
        all.push_back({"GlobalMaxPool" + of, {"GlobalMaxPool", {image}, {}, {}, 1, opset}});
        all.push_back({"ReduceMax" + of, {"ReduceMax", {{2, 3, 4}}, {}, {{"axes", Ints{0, 2}}}, 1, opset}});
        for (const std::vector<std::int64_t>& places : {Ints{3}, Ints{1, 4, 1, 0}}) {
            const std::string count = ", " + std::to_string(places.size()) + " places";
            all.push_back({"Gather" + count + of,
                           {"Gather", {{2, 5, 3}}, {ints(places)}, {{"axis", std::int64_t{1}}}, 1, opset}});
        }
        if (opset > 9) {
            const Attributes overlapping{
                {"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 1}}, {"pads", Ints{1, 1, 1, 1}}};
            all.push_back({"MaxPool" + of, {"MaxPool", {image}, {}, overlapping, 1, opset}});
            all.push_back({"TopK, places at hand" + of, {"TopK", {{3, 5}}, {ints({2})}, {}, 2, opset}});
            all.back().second.isOfFirst = true;
            all.push_back({"TopK" + of, {"TopK", {{3, 5}}, {ints({2})}, {}, 1, opset}});
        }
    }
    all.push_back({"Gather from the end", {"Gather", {{5, 3}}, {ints({-1, 2, -5, -1})}, {}, 1, 13}});
    all.push_back({"MaxPool, dilated, in a line",
                   {"MaxPool", {{1, 2, 11}}, {}, {{"kernel_shape", Ints{3}}, {"dilations", Ints{2}}}, 1, 12}});
    all.push_back(
        {"Slice by attributes",
         {"Slice", {{5, 6}}, {}, {{"starts", Ints{-4, 1}}, {"ends", Ints{100, -1}}, {"axes", Ints{0, 1}}}, 1, 9}});
    all.push_back({"Slice by attributes, all axes",
                   {"Slice", {{5, 6}}, {}, {{"starts", Ints{1, 2}}, {"ends", Ints{3, 6}}}, 1, 9}});
    all.push_back({"Slice, opset 10", {"Slice", {{5, 6}}, {ints({0}), ints({5}), ints({0}), ints({2})}, {}, 1, 10}});
    for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
        const Attributes how{{"mode", std::string(mode)}};
        const std::string name = std::string("Pad, ") + mode;
        const std::int64_t far = std::string(mode) == "reflect" ? 4 : 7; // a mirror shows each element once
        all.push_back({name, {"Pad", {{2, 3, 5}}, {ints({0, 2, 1, 0, 1, far})}, how, 1, 19}});
        all.push_back({name + ", cut off", {"Pad", {{2, 4, 5}}, {ints({0, 2, -1, 1, -1, 3})}, how, 1, 19}});
        all.push_back({name + ", some axes",
                       {"Pad", {{4, 3, 5}}, {ints({2, 1, 0, 3}), Tensor::scalar(0.5), ints({-1, 0})}, how, 1, 19}});
    }
    all.push_back({"Pad, value computed", {"Pad", {{2, 3}, {}}, {ints({1, 0, 0, 2})}, {}}});
    all.back().second.order = {0, 2, 1};
    all.push_back(
        {"Pad by attributes, reflect",
         {"Pad", {{1, 2, 4}}, {}, {{"pads", Ints{0, 0, 2, 0, 0, 3}}, {"mode", std::string("reflect")}}, 1, 9}});
    all.push_back({"Pad by attributes", {"Pad", {{2, 3}}, {}, {{"pads", Ints{1, 0, 0, 2}}}, 1, 9}});
}

} // namespace

Cases gradientGraphCases()
{
    const Shape square{2, 3};
    const Shape image{1, 4, 7, 6};
    std::vector<std::pair<std::string, Case>> all;
    for (const char* op : {"Abs", "Cos", "Dropout", "Erf", "Exp", "Identity", "LeakyRelu", "Log", "Neg", "Reciprocal",
                           "Relu", "Sigmoid", "Sin", "Softplus", "Sqrt", "Tanh"}) {
        all.push_back({op, {op, {square}, {}, {}}});
    }
    all.push_back({"Dropout, ratio given", {"Dropout", {square, {}}, {}, {}}});
    for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
        all.push_back({op, {op, {square, square}, {}, {}}});
        all.push_back({std::string(op) + " broadcast", {op, {{4, 2, 3}, {2, 1}}, {}, {}}});
    }
    all.push_back({"Sum", {"Sum", {square, {3}, square}, {}, {}}});
    all.push_back({"Pow", {"Pow", {square}, {Tensor::scalar(2.5)}, {}}});
    addPowers(all);
    all.push_back({"MatMul", {"MatMul", {{4, 2, 3}, {3, 5}}, {}, {}}});
    all.push_back({"Gemm",
                   {"Gemm",
                    {{3, 2}, {4, 3}, {4}},
                    {},
                    {{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}, {"alpha", 0.5}, {"beta", 2.0}}}});
    all.push_back({"Gemm plain", {"Gemm", {{2, 3}, {3, 4}}, {}, {}}});
    const Attributes strided{{"strides", std::vector<std::int64_t>{2, 2}},
                             {"pads", std::vector<std::int64_t>{1, 0, 1, 1}},
                             {"group", std::int64_t{2}}};
    all.push_back({"Conv", {"Conv", {image}, {drawn({6, 2, 3, 3}, 3)}, strided}});
    all.push_back({"ConvTranspose", {"ConvTranspose", {image}, {drawn({4, 3, 3, 3}, 4)}, strided}});
    all.push_back({"BatchNormalization",
                   {"BatchNormalization", {image}, {drawn({4}, 1), drawn({4}, 2), drawn({4}, 3), drawn({4}, 4)}, {}}});
    all.push_back({"MaxPool",
                   {"MaxPool",
                    {image},
                    {},
                    {{"kernel_shape", std::vector<std::int64_t>{3, 3}},
                     {"strides", std::vector<std::int64_t>{2, 2}},
                     {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}}});
    all.push_back(
        {"AveragePool",
         {"AveragePool",
          {image},
          {},
          {{"kernel_shape", std::vector<std::int64_t>{3, 2}}, {"strides", std::vector<std::int64_t>{2, 2}}}}});
    all.push_back({"GlobalAveragePool", {"GlobalAveragePool", {image}, {}, {}}});
    all.push_back({"ReduceSum", {"ReduceSum", {{2, 3, 4}}, {ints({1})}, {{"keepdims", std::int64_t{0}}}}});
    all.push_back({"ReduceMean", {"ReduceMean", {{2, 3, 4}}, {}, {{"axes", std::vector<std::int64_t>{0, -1}}}}});
    all.push_back({"Softmax", {"Softmax", {{2, 3, 4}}, {}, {{"axis", std::int64_t{1}}}}});
    all.push_back({"LogSoftmax", {"LogSoftmax", {{2, 3}}, {}, {}}});
    all.push_back({"LayerNormalization", {"LayerNormalization", {{2, 3, 4}}, {drawn({4}, 1), drawn({4}, 2)}, {}}});
    all.push_back({"Concat", {"Concat", {{2, 3}, {2, 1}}, {}, {{"axis", std::int64_t{-1}}}}});
    all.push_back({"Split", {"Split", {{2, 6}}, {ints({4, 2})}, {{"axis", std::int64_t{1}}}, 2}});
    constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
    all.push_back({"Slice from the largest integer backwards",
                   {"Slice", {{5, 6}}, {ints({kLast}), ints({kFirst}), ints({1}), ints({-1})}, {}}});
    all.push_back({"Slice to the largest integer in huge steps",
                   {"Slice", {{5, 6}}, {ints({2}), ints({kLast - 1}), ints({0}), ints({kLast})}, {}}});
    all.push_back({"Slice", {"Slice", {{5, 6}}, {ints({-4, 1}), ints({100, -1}), ints({0, 1})}, {}}});
    all.push_back({"Pad", {"Pad", {{2, 3}}, {ints({1, 0, 0, 2})}, {}}});
    all.push_back({"Expand", {"Expand", {{3, 1}}, {ints({2, 3, 4})}, {}}});
    all.push_back({"Gather", {"Gather", {{2, 5, 3}}, {Tensor::scalar<std::int64_t>(-2)}, {{"axis", std::int64_t{1}}}}});
    all.push_back({"Flatten", {"Flatten", {{2, 3, 4}}, {}, {}}});
    all.push_back({"Reshape", {"Reshape", {{2, 6}}, {ints({3, -1})}, {}}});
    all.push_back({"Squeeze", {"Squeeze", {{2, 1, 3}}, {ints({1})}, {}}});
    all.push_back({"Unsqueeze", {"Unsqueeze", {{2, 3}}, {ints({0})}, {}}});
    all.push_back({"Transpose", {"Transpose", {{2, 3, 4}}, {}, {{"perm", std::vector<std::int64_t>{2, 0, 1}}}}});
    addMore(all);
    addParameters(all);
    addWindows(all);
    addSelections(all);
    addRare(all);
    addOlder(all);
    return all;
}

} // namespace retro::tests
