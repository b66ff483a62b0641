// SPDX-License-Identifier: Apache-2.0
// What an optimiser fused is explained as the layers that it was made of: the same bits as the model before it.
#include "core/engine/explain/explain.h"
#include "tests/core/formats/protomodel.h"

#include <QtTest>

#include <functional>

using namespace retro;
using namespace retro::tests;
using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;

namespace
{

base::Result<engine::ExplainResult> explained(const ProtoModel& model, const Tensor& x, const std::string& composite)
{
    RETRO_TRY(const auto loaded, engine::parseModel(model.bytes(), "model.onnx", {}, {}));
    engine::ExplainRequest request;
    request.inputs = {x};
    request.composite = composite;
    return engine::explain(*loaded, request);
}

Tensor relevanceOf(const engine::ExplainResult& result, const std::string& value)
{
    const auto id = result.model->graph().findValue(value);
    return id ? result.relevance[id->index()] : Tensor();
}

bool areNear(const Tensor& a, const Tensor& b)
{
    bool isNear = a.isValid() && b.isValid() && a.shape() == b.shape();
    for (std::int64_t i = 0; isNear && i < a.size(); ++i) {
        isNear = std::abs(a.at(i) - b.at(i)) < 1e-5;
    }
    return isNear;
}

/// What differs between two models on one input; empty when nothing does.
std::string difference(const ProtoModel& fused, const ProtoModel& plain, const Tensor& x)
{
    for (const char* composite : {"epsilon", "epsilon_plus_flat", "gradient"}) {
        const auto a = explained(fused, x, composite);
        const auto b = explained(plain, x, composite);
        if (!a.ok() || !b.ok()) {
            return (a.ok() ? b : a).error().text();
        }
        if (!a->outputs[0].bitEqual(b->outputs[0])) {
            return "other values";
        }
        if (!relevanceOf(*a, "x").isValid() || !relevanceOf(*a, "x").bitEqual(relevanceOf(*b, "x"))) {
            return std::string("other relevance by ") + composite;
        }
    }
    return {};
}

/// A small network around layers that are written in one way or another.
struct Pair
{
    ProtoModel fused;
    ProtoModel plain;
    Shape input;

    void both(const std::function<void(ProtoModel&)>& write)
    {
        write(fused);
        write(plain);
    }
};

Pair convolutions()
{
    Pair pair;
    pair.input = {1, 3, 6, 6};
    pair.both([](ProtoModel& m) {
        m.input("x", {1, 3, 6, 6}).constant("w", wavy({4, 3, 3, 3}, 0)).constant("b", wavy({4}, 1));
        m.constant("v", wavy({4, 4, 3, 3}, 2)).constant("c", wavy({4}, 3)).output("y");
    });
    const Ints pads{1, 1, 1, 1};
    pair.fused.node("com.microsoft:FusedConv", {"x", "w", "b"}, {"h"},
                    {{"activation", std::string("Relu")}, {"pads", pads}});
    pair.fused.node("com.microsoft:FusedConv", {"h", "v", "c", "h"}, {"k"},
                    {{"activation", std::string("LeakyRelu")}, {"activation_params", Floats{0.25}}, {"pads", pads}});
    pair.plain.node("Conv", {"x", "w", "b"}, {"h0"}, {{"pads", pads}}).node("Relu", {"h0"}, {"h"});
    pair.plain.node("Conv", {"h", "v", "c"}, {"k0"}, {{"pads", pads}}).node("Add", {"k0", "h"}, {"k1"});
    pair.plain.node("LeakyRelu", {"k1"}, {"k"}, {{"alpha", 0.25}});
    pair.both([](ProtoModel& m) { m.node("GlobalAveragePool", {"k"}, {"p"}).node("Flatten", {"p"}, {"y"}); });
    return pair;
}

Pair gemms()
{
    Pair pair;
    pair.input = {1, 4};
    pair.both([](ProtoModel& m) {
        m.input("x", {1, 4}).constant("w", wavy({5, 4}, 0)).constant("b", wavy({5}, 1)).output("y");
        m.constant("v", wavy({5, 5}, 2)).constant("k", Tensor::scalar<std::int64_t>(-1));
    });
    pair.fused.node("com.microsoft:FusedGemm", {"x", "w", "b"}, {"a"},
                    {{"transB", std::int64_t{1}}, {"activation", std::string("LeakyRelu")}, {"activation_alpha", 0.5}});
    pair.plain.node("Gemm", {"x", "w", "b"}, {"h"}, {{"transB", std::int64_t{1}}});
    pair.plain.node("LeakyRelu", {"h"}, {"a"}, {{"alpha", 0.5}});
    pair.both([](ProtoModel& m) { m.node("Mul", {"v", "a"}, {"c"}); });
    pair.fused.node("com.microsoft:Trilu", {"c", "k"}, {"d"}, {{"upper", std::int64_t{0}}});
    pair.plain.node("Trilu", {"c", "k"}, {"d"}, {{"upper", std::int64_t{0}}});
    pair.fused.node("com.microsoft:Trilu", {"d"}, {"e"});
    pair.plain.node("Trilu", {"d"}, {"e"});
    pair.both([](ProtoModel& m) { m.node("MatMul", {"a", "e"}, {"y"}); });
    return pair;
}

Pair gatedLayer()
{
    Pair pair;
    pair.input = {2, 4};
    pair.fused = ProtoModel(28);
    pair.plain = ProtoModel(28);
    pair.both([](ProtoModel& m) {
        m.input("x", {2, 4}).constant("w", wavy({4, 6}, 0)).constant("v", wavy({4, 6}, 1)).output("y");
        m.node("MatMul", {"x", "w"}, {"a"}).node("MatMul", {"x", "v"}, {"b"});
    });
    pair.fused.node("SwiGLU", {"a", "b"}, {"y"}, {{"alpha", 1.5}});
    pair.plain.node("Swish", {"a"}, {"g"}, {{"alpha", 1.5}}).node("Mul", {"g", "b"}, {"y"});
    return pair;
}

Pair transformerBlock()
{
    Pair pair;
    pair.input = {1, 3, 4};
    pair.both([](ProtoModel& m) {
        m.input("x", {1, 3, 4}).constant("w", wavy({4, 6}, 0)).constant("b", wavy({6}, 1));
        m.constant("v", wavy({6, 4}, 2)).constant("c", wavy({4}, 3)).constant("g", wavy({4}, 4));
        m.constant("e", wavy({4}, 5)).constant("axes", Tensor::of<std::int64_t>({1}, Ints{1}));
        m.node("MatMul", {"x", "w"}, {"h0"});
    });
    pair.fused.node("com.microsoft:BiasGelu", {"h0", "b"}, {"h"});
    pair.plain.node("Add", {"h0", "b"}, {"h1"}).node("com.microsoft:Gelu", {"h1"}, {"h"});
    pair.both([](ProtoModel& m) { m.node("MatMul", {"h", "v"}, {"k0"}); });
    pair.fused.node("com.microsoft:SkipLayerNormalization", {"x", "k0", "g", "e", "c"}, {"k"}, {{"epsilon", 1e-5}});
    pair.plain.node("Add", {"k0", "c"}, {"k1"}).node("Add", {"x", "k1"}, {"k2"});
    pair.plain.node("LayerNormalization", {"k2", "g", "e"}, {"k"}, {{"epsilon", 1e-5}});
    pair.both([](ProtoModel& m) {
        m.node("ReduceMean", {"k", "axes"}, {"y"}, {{"keepdims", std::int64_t{0}}}).output("y");
    });
    return pair;
}

/// SkipSimplifiedLayerNormalization with all of its outputs, each of which is read.
Pair sumsWithStatistics()
{
    Pair pair;
    pair.input = {1, 3, 4};
    pair.both([](ProtoModel& m) {
        m.input("x", {1, 3, 4}).constant("w", wavy({4, 4}, 0)).constant("g", wavy({4}, 1));
        m.node("MatMul", {"x", "w"}, {"h"});
    });
    pair.fused.node("com.microsoft:SkipSimplifiedLayerNormalization", {"x", "h", "g"},
                    {"norm", "mean", "deviation", "sum"}, {{"epsilon", 1e-5}});
    pair.plain.constant("last", Tensor::of<std::int64_t>({1}, Ints{-1}))
        .constant("e", Tensor::of<float>({1}, std::vector<float>{1e-5F}));
    pair.plain.constant("none", Tensor::of<float>({1, 3, 1}, std::vector<float>(3, 0.0F)));
    pair.plain.node("Add", {"x", "h"}, {"sum"}).node("Mul", {"sum", "sum"}, {"squares"});
    pair.plain.node("SimplifiedLayerNormalization", {"sum", "g"}, {"norm"}, {{"epsilon", 1e-5}});
    pair.plain.node("ReduceMean", {"squares", "last"}, {"square"}).node("Add", {"square", "e"}, {"with e"});
    pair.plain.node("Sqrt", {"with e"}, {"root"}).node("Reciprocal", {"root"}, {"deviation"});
    pair.plain.node("Identity", {"none"}, {"mean"});
    pair.both([](ProtoModel& m) {
        m.node("Add", {"norm", "mean"}, {"a"}).node("Mul", {"sum", "deviation"}, {"b"}).node("Add", {"a", "b"}, {"c"});
        m.node("Flatten", {"c"}, {"y"}, {{"axis", std::int64_t{0}}}).output("y");
    });
    return pair;
}

/// The order of axes that FusedMatMul reads a batch × rows × columns operand in.
Ints readingOrder(bool isSwapped, bool isBatchMoved)
{
    Ints order = isBatchMoved ? Ints{1, 0, 2} : Ints{0, 1, 2};
    if (isSwapped) {
        std::swap(order[1], order[2]);
    }
    return order;
}

Shape shapeReadAs(const Shape& wanted, const Ints& order)
{
    Shape shape(3);
    for (std::size_t i = 0; i < 3; ++i) {
        shape[static_cast<std::size_t>(order[i])] = wanted[i];
    }
    return shape;
}

/// Gelu and HardSwish written out with their factor last, which the optimiser moves into the product behind them.
Pair factorsBeforeProducts(bool isGelu)
{
    Pair pair;
    pair.input = {2, 6};
    pair.both([&](ProtoModel& m) {
        m.input("x", {2, 6}).constant("w", wavy({6, 4}, 0)).constant("w0", wavy({6, 6}, 1));
        m.node("MatMul", {"x", "w0"}, {"h"}).constant("root", Tensor::scalar(0.70710678F));
        m.constant("one", Tensor::scalar(1.0F)).constant("three", Tensor::scalar(3.0F));
        m.constant("zero", Tensor::scalar(0.0F)).constant("six", Tensor::scalar(6.0F));
        if (isGelu) {
            m.node("Mul", {"h", "root"}, {"u"}).node("Erf", {"u"}, {"e"}).node("Add", {"e", "one"}, {"gate"});
        } else {
            m.node("Add", {"h", "three"}, {"u"}).node("Clip", {"u", "zero", "six"}, {"gate"});
        }
        m.node("Mul", {"h", "gate"}, {"product"});
    });
    const double factor = isGelu ? 0.5 : 1.0 / 6;
    pair.fused.node("com.microsoft:FusedMatMul", {"product", "w"}, {"y"}, {{"alpha", factor}}).output("y");
    pair.plain.constant("factor", Tensor::scalar(static_cast<float>(factor)));
    pair.plain.node("Mul", {"product", "factor"}, {"a"}).node("MatMul", {"a", "w"}, {"y"}).output("y");
    return pair;
}

/// Products of all transposes. `isOpen`: nothing says how many axes the operands have.
Pair products(int bits, bool isOpen)
{
    const auto bit = [bits](int k) { return std::int64_t{(bits >> k) & 1}; };
    const Ints orderA = readingOrder(bit(0) != 0, bit(1) != 0);
    const Ints orderB = readingOrder(bit(2) != 0, bit(3) != 0);
    const Shape a = shapeReadAs({2, 3, 4}, orderA);
    const Shape b = shapeReadAs({2, 4, 5}, orderB);
    Pair pair;
    pair.input = {1, 24};
    pair.both([&](ProtoModel& m) {
        m.input("x", {1, 24}).constant("w", wavy({24, 40}, 0));
        m.constant("sa", Tensor::of<std::int64_t>({3}, a)).constant("sb", Tensor::of<std::int64_t>({3}, b));
        m.node("Reshape", {"x", "sa"}, {"a0"})
            .node("MatMul", {"x", "w"}, {"b00"})
            .node("Reshape", {"b00", "sb"}, {"b0"});
    });
    const std::string suffix = isOpen ? "1" : "0";
    if (isOpen) { // an operator behind which ranks are not known
        pair.both([](ProtoModel& m) { m.node("Trilu", {"a0"}, {"a1"}).node("Trilu", {"b0"}, {"b1"}); });
    }
    pair.fused.node(
        "com.microsoft:FusedMatMul", {"a" + suffix, "b" + suffix}, {"c"},
        {{"transA", bit(0)}, {"transBatchA", bit(1)}, {"transB", bit(2)}, {"transBatchB", bit(3)}, {"alpha", 0.5}});
    pair.plain.constant("half", Tensor::scalar(0.5F));
    pair.plain.node("Transpose", {"a" + suffix}, {"at"}, {{"perm", orderA}});
    pair.plain.node("Transpose", {"b" + suffix}, {"bt"}, {{"perm", orderB}});
    pair.plain.node("MatMul", {"at", "bt"}, {"c0"}).node("Mul", {"c0", "half"}, {"c"});
    pair.both([](ProtoModel& m) { m.node("Flatten", {"c"}, {"y"}, {{"axis", std::int64_t{0}}}).output("y"); });
    return pair;
}

} // namespace

class WrittenOutTest : public QObject
{
    Q_OBJECT

private slots:
    void fusedLayersAreTheirLayers()
    {
        int phase = 0;
        for (const Pair& pair : {convolutions(), gemms(), gatedLayer(), transformerBlock()}) {
            const std::string found = difference(pair.fused, pair.plain, wavy(pair.input, ++phase));
            QVERIFY2(found.empty(), found.c_str());
        }
    }

    void productsOfAllTransposes()
    {
        for (int bits = 0; bits < 16; ++bits) {
            const Pair pair = products(bits, false);
            const std::string found = difference(pair.fused, pair.plain, wavy(pair.input, bits));
            QVERIFY2(found.empty(), qPrintable(QStringLiteral("%1: %2").arg(bits).arg(found.c_str())));
        }
    }

    /// The mean beside a normalisation hands its relevance on to the numbers that it is the mean of.
    void aStatisticAloneHandsItsRelevanceOn()
    {
        ProtoModel model;
        model.input("x", {2, 4}).constant("g", wavy({4}, 1));
        model.node("LayerNormalization", {"x", "g"}, {"y", "mean", "deviation"}).output("mean");
        RETRO_MADE(result, explained(model, wavy({2, 4}, 2), "epsilon"));
        const Tensor relevance = relevanceOf(*result, "x");
        QVERIFY(relevance.isValid());
        const auto sumOf = [](const Tensor& all) {
            double sum = 0;
            for (std::int64_t i = 0; i < all.size(); ++i) {
                sum += all.at(i);
            }
            return sum;
        };
        const double started = sumOf(relevanceOf(*result, "mean"));
        QVERIFY(started != 0 && std::abs(sumOf(relevance) - started) <= 1e-4 * std::abs(started));
    }

    void factorsInProductsAreThoseOfActivations()
    {
        for (const bool isGelu : {true, false}) {
            const Pair pair = factorsBeforeProducts(isGelu);
            const std::string found = difference(pair.fused, pair.plain, wavy(pair.input, 2));
            QVERIFY2(found.empty(), found.c_str());
        }
    }

    void statisticsOfNormalisedSums()
    {
        const Pair pair = sumsWithStatistics();
        const Tensor x = wavy(pair.input, 3);
        const auto a = explained(pair.fused, x, "gradient");
        const auto b = explained(pair.plain, x, "gradient"); // another rule would see a normalisation in the steps
        RETRO_OK(a);
        RETRO_OK(b);
        QVERIFY(areNear(a->outputs[0], b->outputs[0]));
        QVERIFY(areNear(relevanceOf(*a, "x"), relevanceOf(*b, "x")));
    }

    /// Without a known rank Einsum turns the operands of FusedMatMul.
    void productsOfUnknownRank()
    {
        for (int bits = 0; bits < 16; ++bits) {
            const Pair pair = products(bits, true);
            const Tensor x = wavy(pair.input, bits);
            RETRO_MADE(a, explained(pair.fused, x, "gradient"));
            RETRO_MADE(b, explained(pair.plain, x, "gradient"));
            for (std::int64_t i = 0; i < a->outputs[0].size(); ++i) {
                QVERIFY(std::abs(a->outputs[0].at(i) - b->outputs[0].at(i)) < 1e-5);
            }
            const Tensor first = relevanceOf(*a, "x").contiguous();
            const Tensor second = relevanceOf(*b, "x").contiguous();
            for (std::int64_t i = 0; i < first.size(); ++i) {
                QVERIFY2(std::abs(first.at(i) - second.at(i)) < 1e-5, qPrintable(QString::number(bits)));
            }
        }
    }
};

QTEST_GUILESS_MAIN(WrittenOutTest)
#include "writtenouttest.moc"
