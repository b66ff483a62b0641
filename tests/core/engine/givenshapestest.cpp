// SPDX-License-Identifier: Apache-2.0
// Free axes of inputs: names that name nothing, and shapes that a person gives.
#include "core/engine/input/givenshapes.h"
#include "core/engine/input/inputs.h"
#include "core/execute/boundmodel.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/graph/placeholder.h"

#include <QtTest>

using namespace retro;
using graph::Dimension;
using tensor::Shape;

namespace
{

using Declared = std::vector<Dimension>;

/// Two inputs of these shapes, each doubled.
graph::Graph twoInputs(const Declared& a, const Declared& b)
{
    graph::GraphBuilder builder("two", 13);
    for (const auto& [name, shape] : {std::pair("a", a), std::pair("b", b)}) {
        const auto x = builder.addInput(name, tensor::DType::Float32, std::optional(shape));
        const auto y = builder.addOp("Add", std::string("add_") + name, {x, x}, std::string(name) + "2");
        builder.addOutput(y);
    }
    return std::move(builder).build().value();
}

bool binds(const Declared& a, const Declared& b, const Shape& given, const Shape& other)
{
    const auto graph = std::make_shared<const graph::Graph>(twoInputs(a, b));
    const std::vector<ops::TensorType> types{{tensor::DType::Float32, given}, {tensor::DType::Float32, other}};
    return execute::BoundModel::bind(graph, types, execute::Precision::Float).ok();
}

Dimension named(const char* symbol) { return {std::nullopt, symbol}; }
Dimension fixed(std::int64_t extent) { return {extent, {}}; }

/// "2,3,-1|4": the extents of both inputs, −1 for a free axis; the error where there is one.
std::string shapesWith(const std::vector<std::string>& texts, const graph::Graph& graph)
{
    const auto shapes = engine::givenShapes(texts, graph);
    if (!shapes.ok()) {
        return shapes.error().code == base::ErrorCode::Usage ? "usage: " + shapes.error().message : "another error";
    }
    std::string text;
    for (const auto& [input, shape] : *shapes) {
        text += text.empty() ? "" : "|";
        for (std::size_t i = 0; i < shape.size(); ++i) {
            text += (i == 0 ? "" : ",") + std::to_string(shape[i].extent.value_or(-1));
        }
    }
    return text;
}

} // namespace

class GivenShapesTest : public QObject
{
    Q_OBJECT

private slots:
    void namesThatNameNothing()
    {
        for (const char* word : {"", "?", "None", "none", "unk", "unk__12", "UNK_3", "dyn", "dynamic", "-1", "0", "*",
                                 "unknown_7", "null"}) {
            QVERIFY2(graph::isPlaceholder(word), word);
        }
        for (const char* word : {"N", "batch_size", "seq", "dyna", "unkempt", "batch_1", "nonexistent", "H2"}) {
            QVERIFY2(!graph::isPlaceholder(word), word);
        }
    }

    void placeholdersNeedNotAgree()
    {
        for (const char* word : {"", "?", "None", "unk__12", "dyn", "-1"}) {
            const Declared shape{fixed(1), named(word), named(word)};
            QVERIFY2(binds(shape, shape, {1, 2, 3}, {1, 4, 5}), word);
        }
        QVERIFY(binds({named("N"), fixed(0)}, {named("M"), fixed(0)}, {2, 3}, {4, 5}));
        QVERIFY(!binds({named("N"), named("N")}, {fixed(1)}, {2, 3}, {1}));
        QVERIFY(!binds({named("N"), fixed(3)}, {named("N")}, {2, 3}, {4}));
        QVERIFY(binds({named("N"), fixed(3)}, {named("N")}, {2, 3}, {2}));
        QVERIFY(!binds({named("N"), fixed(3)}, {named("N")}, {2, 4}, {2}));
    }

    void shapesAreTaken()
    {
        const graph::Graph graph = twoInputs({named("N"), fixed(3), named("?"), named("?")}, {named("N"), named("T")});
        QCOMPARE(shapesWith({"a=2x3x48x192"}, graph), std::string("2,3,48,192|2,-1"));
        QCOMPARE(shapesWith({"a=?x3x48x?", "b=5x7"}, graph), std::string("5,3,48,-1|5,7"));
        QCOMPARE(shapesWith({"b=4,7"}, graph), std::string("4,3,-1,-1|4,7"));
        QVERIFY(shapesWith({"a=2x3x48x192", "b=4x7"}, graph).starts_with("usage: axis 0 is called N"));
        QVERIFY(shapesWith({"a=2x4x48x192"}, graph).starts_with("usage: axis 1 of the input is 3"));
        QVERIFY(shapesWith({"a=2x3"}, graph).starts_with("usage: the input is N"));
        QVERIFY(shapesWith({"2x3x48x192"}, graph).starts_with("usage: the model has no input"));
        QVERIFY(shapesWith({"c=2x3"}, graph).find("a, b") != std::string::npos);
        for (const char* wrong : {"a=", "a=2x3x48x", "a=2xthree", "a=0x3x1x1", "a=-1x3x1x1",
                                  "a=2x3x1x99999999999999999999", "a=2x3x9999999999x9999999999"}) {
            QVERIFY2(shapesWith({wrong}, graph).starts_with("usage"), wrong);
        }
        QVERIFY(shapesWith({"a=2x3x4x5", "a=2x3x4x5"}, graph).starts_with("usage: two shapes"));
    }

    void madeUpInputsHaveThem()
    {
        const auto bytes = formats::toOnnx(twoInputs({named("N"), named("?")}, {fixed(2)}));
        RETRO_MADE(model, engine::parseModel(*bytes, "two.onnx", {}));
        const std::vector<std::string> sources{"a=random:1", "b=zeros"};
        const auto refused = engine::resolveInputs(sources, **model, {});
        QVERIFY(!refused.ok() && refused.error().text().find("--shape a=") != std::string::npos);
        RETRO_MADE(shaped, engine::withInputShapes(*model, {"a=3x5"}));
        RETRO_MADE(inputs, engine::resolveInputs(sources, **shaped, {}));
        QCOMPARE((*inputs)[0].shape(), (Shape{3, 5}));
        const auto back = engine::withInputShapes(*shaped, {});
        QVERIFY(back.ok() && (*back)->rewritten.before == (*model)->rewritten.before);
    }
};

QTEST_GUILESS_MAIN(GivenShapesTest)
#include "givenshapestest.moc"
