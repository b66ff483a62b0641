// SPDX-License-Identifier: Apache-2.0
// Shapes that a model computes from the shape of its input are known when it is bound.
#include "core/execute/forward.h"
#include "core/graph/graphbuilder.h"

#include <QtTest>

using namespace retro;
using execute::BoundModel;
using execute::Precision;
using execute::ValueId;
using tensor::DType;
using tensor::Tensor;

namespace
{

Tensor ints(std::vector<std::int64_t> values)
{
    const auto count = static_cast<std::int64_t>(values.size());
    return Tensor::of<std::int64_t>({count}, values);
}

/// y = reshape(x, concat(shape(x)[0], −1)) · float(shape(x)[0]): what exporters write for x.view(x.size(0), −1) · n.
std::shared_ptr<const graph::Graph> flatteningByShape()
{
    graph::GraphBuilder builder("flatten", 13);
    const std::vector<graph::Dimension> shape{{std::nullopt, "N"}, {2, ""}, {3, ""}};
    const ValueId x = builder.addInput("x", DType::Float32, shape);
    const ValueId zero = builder.addConstant("zero", ints({0}));
    const ValueId rest = builder.addConstant("rest", ints({-1}));
    const auto result = [&](const char* name) { return builder.addResult(name); };
    const ValueId whole = result("whole");
    const ValueId batch = result("batch");
    const ValueId wanted = result("wanted");
    const ValueId flat = result("flat");
    const ValueId factor = result("factor");
    const ValueId y = result("y");
    builder.addNode({"Shape", "", "shape", "", 13, {x}, {whole}, {}});
    builder.addNode({"Gather", "", "batch", "", 13, {whole, zero}, {batch}, {}});
    builder.addNode({"Concat", "", "wanted", "", 13, {batch, rest}, {wanted}, {{"axis", std::int64_t{0}}}});
    builder.addNode({"Reshape", "", "flat", "", 13, {x, wanted}, {flat}, {}});
    builder.addNode({"Cast", "", "factor", "", 13, {batch}, {factor}, {{"to", std::int64_t{1}}}});
    builder.addNode({"Mul", "", "y", "", 13, {flat, factor}, {y}, {}});
    builder.addOutput(y);
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
}

/// y = relu(reshape(x, shape + shape)): the shape is data of an input.
std::shared_ptr<const graph::Graph> reshapingByData()
{
    graph::GraphBuilder builder("by data", 14);
    const ValueId x = builder.addInput("x", DType::Float32, tensor::Shape{2, 6});
    const ValueId half = builder.addInput("half", DType::Int64, tensor::Shape{2});
    const ValueId shape = builder.addOp("Add", "double", {half, half}, "shape");
    const ValueId moved = builder.addOp("Reshape", "move", {x, shape}, "moved");
    const ValueId y = builder.addOp("Relu", "y", {moved}, "y");
    builder.addOutput(y);
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
}

/// y = gather(x, i) with indices that are an input.
std::shared_ptr<const graph::Graph> lookup()
{
    graph::GraphBuilder builder("lookup", 13);
    const ValueId x = builder.addInput("x", DType::Float32, tensor::Shape{3});
    const ValueId i = builder.addInput("i", DType::Int64, tensor::Shape{2});
    const ValueId y = builder.addOp("Gather", "pick", {x, i}, "y");
    builder.addOutput(y);
    return std::make_shared<const graph::Graph>(std::move(builder).build().value());
}

} // namespace

class KnownResultsTest : public QObject
{
    Q_OBJECT
private slots:
    void shapesFollowTheDataOfInputs()
    {
        const std::array types{ops::TensorType{DType::Float32, {2, 6}}, ops::TensorType{DType::Int64, {2}}};
        const std::array inputs{Tensor::full(DType::Float32, {2, 6}, 1), ints({2, 1})};
        RETRO_REFUSED(BoundModel::bind(reshapingByData(), types, Precision::Float), "must be known before the run");
        const std::array wrong{inputs[0], ints({2, 2})};
        QVERIFY(!BoundModel::bind(reshapingByData(), types, Precision::Float, wrong).ok()); // 16 elements
        const std::array fitting{inputs[0], ints({1, 3})};
        RETRO_MADE(model, BoundModel::bind(reshapingByData(), types, Precision::Float, fitting));
        QVERIFY(!(*model)->boundInputs()[0].isValid());
        QVERIFY((*model)->boundInputs()[1].bitEqual(fitting[1]));
        RETRO_MADE(result, execute::forward(*model, fitting, execute::SavePolicy::Autograd));
        QVERIFY((result->outputs[0].shape() == tensor::Shape{2, 6}));
        // The same model for other data would have another shape.
        RETRO_REFUSED(execute::forward(*model, inputs, execute::SavePolicy::Autograd), "input \"half\"");
    }

    void indicesOutsideAreRefused()
    {
        const std::array types{ops::TensorType{DType::Float32, {3}}, ops::TensorType{DType::Int64, {2}}};
        RETRO_MADE(model, BoundModel::bind(lookup(), types, Precision::Float));
        const Tensor x = Tensor::full(DType::Float32, {3}, 1);
        QVERIFY(execute::forward(*model, std::array{x, ints({2, -3})}, execute::SavePolicy::All).ok());
        const auto refused = execute::forward(*model, std::array{x, ints({0, 3})}, execute::SavePolicy::All);
        QVERIFY(!refused.ok());
        QCOMPARE(QString::fromStdString(refused.error().text()),
                 "node 'pick' (Gather): index 3 is outside an extent of 3");
    }

    void shapesFollowTheBatch()
    {
        for (const Precision precision : {Precision::Float, Precision::Double}) {
            for (const std::int64_t batch : {1, 4}) {
                const DType dtype = execute::dtypeOf(precision);
                const std::array types{ops::TensorType{dtype, {batch, 2, 3}}};
                RETRO_MADE(model, BoundModel::bind(flatteningByShape(), types, precision));
                const std::array inputs{Tensor::full(dtype, {batch, 2, 3}, 0.5)};
                RETRO_MADE(result, execute::forward(*model, inputs, execute::SavePolicy::Autograd));
                const Tensor& y = result->outputs[0];
                QVERIFY((y.shape() == tensor::Shape{batch, 6}));
                QVERIFY(y.dtype() == dtype);
                QCOMPARE(y.at(0), 0.5 * static_cast<double>(batch));
                QVERIFY((*model)->isTracked((*model)->graph().outputs()[0]));
                QVERIFY(!(*model)->isTracked(*(*model)->graph().findValue("factor")));
            }
        }
    }
};

QTEST_GUILESS_MAIN(KnownResultsTest)
#include "knownresultstest.moc"
