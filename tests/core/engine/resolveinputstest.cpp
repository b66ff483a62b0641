// SPDX-License-Identifier: Apache-2.0
// Files that are given as inputs, fitted to what the model declares.
#include "core/engine/inputs.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/npy.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace retro;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// y = x + x, x of the declared shape.
graph::Graph twice(std::vector<graph::Dimension> declared)
{
    graph::GraphBuilder builder("twice");
    builder.setOpset("", 13);
    const auto x = builder.addInput("x", DType::Float32, std::move(declared));
    const auto y = builder.addResult("y");
    builder.addNode({"Add", "", "add", "", 13, {x, x}, {y}, {}});
    builder.addOutput(y);
    return std::move(builder).build().value();
}

} // namespace

class ResolveInputsTest : public QObject
{
    Q_OBJECT

private slots:
    void oneNumberIsAScalar()
    {
        const QString file = m_folder.filePath("one.npy");
        QVERIFY(tensor::writeNpy(file.toStdString(), Tensor::zeros(DType::Float32, {1})).ok());
        const auto scalar = engine::resolveInputs({file.toStdString()}, twice({}), {}, {});
        QVERIFY(scalar.ok());
        QVERIFY(scalar->front().shape().empty());
        const auto row = engine::resolveInputs({file.toStdString()}, twice({{1, ""}}), {}, {});
        QVERIFY(row.ok());
        QCOMPARE(row->front().shape().size(), std::size_t{1});
    }

    void twoNumbersAreNone()
    {
        const QString file = m_folder.filePath("two.npy");
        QVERIFY(tensor::writeNpy(file.toStdString(), Tensor::zeros(DType::Float32, {2})).ok());
        const auto pair = engine::resolveInputs({file.toStdString()}, twice({}), {}, {});
        QVERIFY(pair.ok()); // what does not fit is refused when the model is bound
        QCOMPARE(pair->front().shape().size(), std::size_t{1});
    }

    void aModelWithoutInputsSaysSo()
    {
        graph::GraphBuilder builder("constant");
        builder.setOpset("", 13);
        builder.addOutput(builder.addConstant("c", Tensor::zeros(DType::Float32, {2})));
        const auto none = engine::resolveInputs({"zeros"}, std::move(builder).build().value(), {}, {});
        QVERIFY(!none.ok());
        QVERIFY2(none.error().text().find("has no inputs") != std::string::npos, none.error().text().c_str());
    }

private:
    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(ResolveInputsTest)
#include "resolveinputstest.moc"
