// SPDX-License-Identifier: Apache-2.0
// Shapes with symbols follow from the inputs' declared shapes.
#include "core/engine/model/symbolicshapes.h"
#include "core/graph/graphbuilder.h"

#include <QtTest>

using namespace retro;
using graph::ValueId;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// x[N, 3, H, W] → Conv stride 2 → flat [N, 8·H/2·W/2] and shape-steered [H/2, …]; and a concatenation along H.
std::shared_ptr<const graph::Graph> convolution()
{
    graph::GraphBuilder builder("c", 13);
    const std::vector<graph::Dimension> declared{{std::nullopt, "N"}, {3, ""}, {std::nullopt, "H"}, {std::nullopt, ""}};
    const ValueId x = builder.addInput("x", DType::Float32, declared);
    const ValueId w = builder.addConstant("w", Tensor::zeros(DType::Float32, {8, 3, 3, 3}));
    const ValueId z = builder.addResult("z");
    const ValueId flat = builder.addResult("flat");
    const ValueId twice = builder.addResult("twice");
    const ValueId more = builder.addResult("more");
    graph::Node conv{"Conv", "", "conv", "", 13, {x, w}, {z}, {}};
    conv.attributes["strides"] = std::vector<std::int64_t>{2, 2};
    conv.attributes["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
    builder.addNode(std::move(conv));
    builder.addNode({"Flatten", "", "flatten", "", 13, {z}, {flat}, {}});
    builder.addNode({"Concat", "", "concat", "", 13, {x, x}, {twice}, {{"axis", std::int64_t{2}}}});
    graph::Node same{"Conv", "", "grow", "", 13, {x, w}, {more}, {}};
    same.attributes["pads"] = std::vector<std::int64_t>{2, 1, 2, 1};
    builder.addNode(std::move(same));
    builder.addOutput(flat);
    builder.addOutput(twice);
    builder.addOutput(more);
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
}

} // namespace

class SymbolicShapesTest : public QObject
{
    Q_OBJECT

private slots:
    void extentsFollowTheSymbols()
    {
        const auto graph = convolution();
        RETRO_MADE(shapes, engine::inferSymbolicShapes(graph));
        const auto text = [&](const char* name) {
            QStringList extents;
            for (const std::string& extent : (*shapes)[graph->findValue(name)->index()].extents) {
                extents.append(QString::fromStdString(extent));
            }
            return extents.join(", ");
        };
        QCOMPARE(text("x"), QString("N, 3, H, x[3]"));
        QCOMPARE(text("z"), QString("N, 8, H/2, x[3]/2"));
        QCOMPARE(text("twice"), QString("N, 3, 2·H, x[3]"));
        QCOMPARE(text("more"), QString("N, 8, H + 2, x[3]"));
        QCOMPARE(text("flat"), QString("N, ?")); // a product of two symbols is no sum of them
        QCOMPARE(text("w"), QString("8, 3, 3, 3"));
        RETRO_MADE(atFew, engine::inferSymbolicShapes(graph, engine::kShortSizes));
        for (std::size_t i = 0; i < shapes->size(); ++i) {
            QVERIFY((*atFew)[i].extents == (*shapes)[i].extents);
        }
    }

    void inputsWithoutShapeAreNamed()
    {
        graph::GraphBuilder builder("free", 13);
        const ValueId x = builder.addInput("x", DType::Float32, std::nullopt);
        const ValueId y = builder.addOp("Relu", "relu", {x}, "y");
        builder.addOutput(y);
        const auto shapes =
            engine::inferSymbolicShapes(std::make_shared<const graph::Graph>(std::move(builder).build().value()));
        RETRO_REFUSED(shapes, "input 'x'");
    }
};

QTEST_GUILESS_MAIN(SymbolicShapesTest)
#include "symbolicshapestest.moc"
