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
    graph::GraphBuilder builder("flatten");
    builder.setOpset("", 13);
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

} // namespace

class KnownResultsTest : public QObject
{
    Q_OBJECT
private slots:
    void shapesFollowTheBatch()
    {
        for (const Precision precision : {Precision::Float, Precision::Double}) {
            for (const std::int64_t batch : {1, 4}) {
                const DType dtype = execute::dtypeOf(precision);
                const std::array types{ops::TensorType{dtype, {batch, 2, 3}}};
                const auto model = BoundModel::bind(flatteningByShape(), types, precision);
                QVERIFY2(model.ok(), model.ok() ? "" : model.error().text().c_str());
                const std::array inputs{Tensor::full(dtype, {batch, 2, 3}, 0.5)};
                const auto result = execute::forward(*model, inputs, execute::SavePolicy::Autograd);
                QVERIFY(result.ok());
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
