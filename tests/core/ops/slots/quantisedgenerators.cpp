// SPDX-License-Identifier: Apache-2.0
// Operators of quantised values and of ONNX-ML.
#include "core/ops/quantise/qonnx.h"
#include "tests/core/ops/slots/nongradientgenerators.h"

#include <utility>

namespace retro::tests
{

namespace
{

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;

const std::string kContrib = "com.microsoft";
const std::string kLearning = "ai.onnx.ml";

Tensor levelsOf(Draw& draw, Shape shape) { return draw.integers(std::move(shape), 0, 200).to(DType::UInt8); }
Tensor stepOf(Draw& draw) { return draw.tensor({}, 0.1, 0.5); }

OpCase quantizeContrib(Draw& draw)
{
    OpCase c("QuantizeLinear", 1, kContrib);
    return c.operand(draw.tensor({2, 3})).operand(stepOf(draw)).operand(levelsOf(draw, {}));
}

OpCase dequantizeContrib(Draw& draw)
{
    OpCase c("DequantizeLinear", 1, kContrib);
    return c.operand(levelsOf(draw, {2, 3})).operand(stepOf(draw)).operand(levelsOf(draw, {}));
}

OpCase fakeQuantize(Draw& draw)
{
    OpCase c("FakeQuantize", 1, "retrograde");
    c.operand(draw.tensor({2, 3}, 0, 20));
    return draw.coin() ? c : c.operand(stepOf(draw)).operand(levelsOf(draw, {}));
}

/// Operators of QONNX: scales per channel or one, small widths.
OpCase qonnx(const char* op, std::string_view domain, Draw& draw)
{
    OpCase c(op, 1, std::string(domain));
    const Shape shape{2, 3, 2};
    return c.operand(draw.tensor(shape)).operand(draw.tensor(draw.coin() ? Shape{} : Shape{1, 3, 1}, 0.1, 0.5));
}
OpCase quant(const char* op, std::string_view domain, Draw& draw)
{
    OpCase c = qonnx(op, domain, draw);
    c.operand(draw.integers({}, -1, 1).to(DType::Float64)).operand(draw.integers({}, 1, 4).to(DType::Float64));
    return c.with("signed", draw.whole(0, 1)).with("narrow", draw.whole(0, 1));
}
OpCase trunc(std::string_view domain, Draw& draw)
{
    OpCase c = quant("Trunc", domain, draw);
    return draw.coin() ? c.operand(doubles({}, {2})) : c.operand(doubles({}, {0.5})).operand(doubles({}, {3}));
}
template <std::size_t... domains>
std::vector<Generator> qonnxGenerators(std::index_sequence<domains...>)
{
    std::vector<Generator> all;
    const auto add = [&all]<std::size_t domain>(std::integral_constant<std::size_t, domain>) {
        static constexpr std::string_view kDomain = ops::kQonnxDomains[domain];
        const std::string name(kDomain);
        all.push_back({"Quant", [](Draw& d) { return quant("Quant", kDomain, d); }, name});
        all.push_back({"BipolarQuant", [](Draw& d) { return qonnx("BipolarQuant", kDomain, d); }, name});
        all.push_back({"Trunc", [](Draw& d) { return trunc(kDomain, d); }, name});
    };
    (add(std::integral_constant<std::size_t, domains>()), ...);
    all.push_back({"IntQuant", [](Draw& d) { return quant("IntQuant", ops::kQonnxDomains[0], d); },
                   std::string(ops::kQonnxDomains[0])});
    return all;
}

/// A layer of whole numbers times their scales.
OpCase integerLayer(const char* op, Draw& draw)
{
    OpCase c(op, 1, "retrograde.integer");
    const bool isConvolution = std::string(op) == "Conv";
    const double left = draw.number(0.1, 0.5);
    const double right = draw.number(0.1, 0.5);
    const auto multiples = [&](Shape shape, double scale) {
        return ops::algebra::scale(draw.integers(std::move(shape), -9, 9).to(DType::Float64), scale);
    };
    c.operand(multiples(isConvolution ? Shape{1, 1, 4, 4} : Shape{2, 3}, left));
    c.constant(multiples(isConvolution ? Shape{2, 1, 2, 2} : Shape{3, 4}, right));
    c.absent();
    return c.constant(doubles({}, {left})).constant(doubles({}, {right}));
}

/// One tree of one test.
OpCase tree(const std::string& op, const std::string& prefix, Draw& draw)
{
    OpCase c(op, 3, kLearning);
    c.operand(draw.tensor({3, 2}));
    c.with("nodes_treeids", Ints{0, 0, 0}).with("nodes_nodeids", Ints{0, 1, 2}).with("nodes_featureids", Ints{0, 0, 0});
    c.with("nodes_values", Floats{0.5, 0, 0});
    c.with("nodes_modes", std::vector<std::string>{"BRANCH_LEQ", "LEAF", "LEAF"});
    c.with("nodes_truenodeids", Ints{1, 0, 0}).with("nodes_falsenodeids", Ints{2, 0, 0});
    c.with(prefix + "_treeids", Ints{0, 0}).with(prefix + "_nodeids", Ints{1, 2});
    return c.with(prefix + "_ids", Ints{0, 0}).with(prefix + "_weights", Floats{1, 2});
}

OpCase treeRegressor(Draw& draw)
{
    return tree("TreeEnsembleRegressor", "target", draw).with("n_targets", std::int64_t{1});
}

OpCase treeClassifier(Draw& draw)
{
    return tree("TreeEnsembleClassifier", "class", draw).with("classlabels_int64s", Ints{7, 8}).outputs(2);
}

OpCase joinedTree(Draw& draw)
{
    OpCase c("TreeEnsemble", 5, kLearning);
    c.operand(draw.tensor({3, 2})).with("tree_roots", Ints{0}).with("nodes_featureids", Ints{0});
    c.with("nodes_modes", Tensor::of<std::uint8_t>({1}, std::vector<std::uint8_t>{0}));
    c.with("nodes_splits", Tensor::of<double>({1}, Floats{0.5}));
    c.with("nodes_truenodeids", Ints{0}).with("nodes_falsenodeids", Ints{1});
    c.with("nodes_trueleafs", Ints{1}).with("nodes_falseleafs", Ints{1});
    c.with("leaf_targetids", Ints{0, 0});
    return c.with("leaf_weights", Tensor::of<double>({2}, Floats{1, 2}));
}

OpCase supportVectors(const std::string& op, Draw& draw)
{
    OpCase c(op, 1, kLearning);
    c.operand(draw.tensor({3, 2})).with("kernel_type", std::string("LINEAR"));
    c.with("support_vectors", Floats{1, 0, 0, 1}).with("coefficients", Floats{0.5, -0.25}).with("rho", Floats{0.1});
    return c;
}

OpCase supportRegressor(Draw& draw) { return supportVectors("SVMRegressor", draw).with("n_supports", std::int64_t{2}); }

OpCase supportClassifier(Draw& draw)
{
    OpCase c = supportVectors("SVMClassifier", draw).with("vectors_per_class", Ints{1, 1});
    return c.with("classlabels_ints", Ints{7, 8}).outputs(2);
}

OpCase gatherBlocks(Draw& draw)
{
    OpCase c("GatherBlockQuantized", 1, kContrib);
    c.constant(draw.integers({5, 32}, 0, 15).to(DType::UInt8)).operand(draw.integers({3}, 0, 4).to(DType::Int64));
    c.constant(draw.tensor({5, 2}, 0.1, 0.5));
    return c.with("bits", std::int64_t{8}).with("block_size", std::int64_t{16});
}

} // namespace

std::vector<Generator> quantisedGenerators()
{
    std::vector<Generator> all = qonnxGenerators(std::make_index_sequence<ops::kQonnxDomains.size()>());
    for (const Generator& more : std::vector<Generator>{
             {"QuantizeLinear", quantizeContrib, kContrib},
             {"DequantizeLinear", dequantizeContrib, kContrib},
             {"FakeQuantize", fakeQuantize, "retrograde"},
             {"GatherBlockQuantized", gatherBlocks, kContrib},
             {"Conv", [](Draw& draw) { return integerLayer("Conv", draw); }, "retrograde.integer"},
             {"Gemm", [](Draw& draw) { return integerLayer("Gemm", draw); }, "retrograde.integer"},
             {"MatMul", [](Draw& draw) { return integerLayer("MatMul", draw); }, "retrograde.integer"},
             {"TreeEnsembleRegressor", treeRegressor, kLearning},
             {"TreeEnsembleClassifier", treeClassifier, kLearning},
             {"TreeEnsemble", joinedTree, kLearning},
             {"SVMRegressor", supportRegressor, kLearning},
             {"SVMClassifier", supportClassifier, kLearning},
         }) {
        all.push_back(more);
    }
    return all;
}

} // namespace retro::tests
