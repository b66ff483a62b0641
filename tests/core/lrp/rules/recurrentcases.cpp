// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/rules/recurrentcases.h"

namespace retro::tests
{

namespace
{

using graph::Attributes;
using rewrite::testing::randomTensor;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using Texts = std::vector<std::string>;

const Tensor kNone;

Tensor lengths(const std::vector<std::int64_t>& values)
{
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values).to(DType::Int32);
}

/// Four steps of two rows, three inputs, two hidden units; operands from 4 on as given.
SingleNode recurrent(const char* op, std::int64_t gates, const char* direction, Attributes attributes = {},
                     std::vector<Tensor> more = {})
{
    const std::int64_t d = std::string_view(direction) == "bidirectional" ? 2 : 1;
    const bool isBatchFirst = attributes.contains("layout");
    SingleNode single{op, "", 22, {}, std::move(attributes), gates == 4 ? 3U : 2U, 1};
    single.attributes["direction"] = std::string(direction);
    single.attributes["hidden_size"] = std::int64_t{2};
    single.operands = {randomTensor(isBatchFirst ? Shape{2, 4, 3} : Shape{4, 2, 3}, 1),
                       randomTensor({d, gates * 2, 3}, 2), randomTensor({d, gates * 2, 2}, 3),
                       randomTensor({d, gates * 4}, 4)};
    single.operands.insert(single.operands.end(), more.begin(), more.end());
    return single;
}

SingleNode withoutBias(SingleNode single)
{
    single.operands[3] = {};
    return single;
}

SingleNode fromStates(SingleNode single)
{
    single.alsoInputs = {4, 5, 6}; // lengths and initial states of the run
    return single;
}

SingleNode deformable(bool hasMask, std::int64_t group, bool isComputed)
{
    SingleNode single{"DeformConv", "", 22, {}, {}};
    single.operands = {randomTensor({1, 4, 4, 4}, 1), randomTensor({2, 4 / group, 2, 2}, 2),
                       randomTensor({1, 16, 5, 5}, 3), randomTensor({2}, 4)};
    if (hasMask) {
        single.operands.push_back(randomTensor({1, 8, 5, 5}, 5));
    }
    single.attributes = {
        {"group", group}, {"offset_group", std::int64_t{2}}, {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
    single.constantsFrom = isComputed ? 99 : 1;
    return single;
}

} // namespace

std::vector<std::pair<const char*, SingleNode>> recurrentCases()
{
    const Tensor lens = lengths({4, 2});
    const Tensor none = lengths({0, 3});
    const std::vector<Tensor> start{kNone, randomTensor({1, 2, 2}, 5), randomTensor({1, 2, 2}, 6),
                                    randomTensor({1, 6}, 7)};
    const std::vector<Tensor> both{none, randomTensor({2, 2, 2}, 5), randomTensor({2, 2, 2}, 6),
                                   randomTensor({2, 6}, 7)};
    const Texts odd{"HardSigmoid", "Softsign", "ScaledTanh"};
    const std::vector<double> alphas{0.3, 1.2};
    return {
        {"LSTM", recurrent("LSTM", 4, "forward")},
        {"LSTM without bias", withoutBias(recurrent("LSTM", 4, "reverse"))},
        {"LSTM with peepholes", recurrent("LSTM", 4, "forward", {}, start)},
        {"LSTM of coupled gates",
         fromStates(recurrent("LSTM", 4, "bidirectional", {{"input_forget", std::int64_t{1}}, {"clip", 0.9}}, both))},
        {"LSTM from states", fromStates(recurrent("LSTM", 4, "bidirectional", {{"clip", 0.8}}, both))},
        {"LSTM by rows", fromStates(recurrent("LSTM", 4, "bidirectional", {{"layout", std::int64_t{1}}}, both))},
        {"LSTM of other activations",
         recurrent("LSTM", 4, "reverse", {{"activations", odd}, {"activation_alpha", alphas}}, {lens})},
        {"GRU", recurrent("GRU", 3, "forward")},
        {"GRU both ways", recurrent("GRU", 3, "bidirectional", {{"layout", std::int64_t{1}}}, {lens})},
        {"GRU that resets after",
         recurrent("GRU", 3, "reverse", {{"linear_before_reset", std::int64_t{1}}}, {none, start[1]})},
        {"GRU that resets after, without bias",
         withoutBias(recurrent("GRU", 3, "forward", {{"linear_before_reset", std::int64_t{1}}}))},
        {"RNN", recurrent("RNN", 1, "bidirectional", {{"activations", Texts{"Relu", "Affine"}}}, {lens})},
        {"RNN of one step",
         SingleNode{"RNN",
                    "",
                    14,
                    {randomTensor({1, 1, 3}, 1), randomTensor({1, 2, 3}, 2), randomTensor({1, 2, 2}, 3)},
                    {{"hidden_size", std::int64_t{2}}},
                    2,
                    1}},
        {"DeformConv", deformable(true, 1, false)},
        {"DeformConv of groups", deformable(false, 2, false)},
        {"DeformConv of computed weights", deformable(true, 2, true)},
    };
}

} // namespace retro::tests
