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

    /// NumPy has no bfloat16: uint16 holds its bits.
    void bitsOfBfloat16()
    {
        graph::GraphBuilder builder("halves");
        builder.setOpset("", 18);
        builder.addOutput(builder.addInput("x", DType::BFloat16, std::vector<graph::Dimension>{{2, ""}}));
        const QString file = m_folder.filePath("bits.npy");
        const std::vector<double> bits{0x3fc0, 0xc020};
        QVERIFY(tensor::writeNpy(file.toStdString(), Tensor::of<double>({2}, bits).to(DType::UInt16)).ok());
        const auto read = engine::resolveInputs({file.toStdString()}, std::move(builder).build().value(), {}, {});
        QVERIFY2(read.ok(), read.ok() ? "" : read.error().text().c_str());
        QCOMPARE(read->front().dtype(), DType::BFloat16);
        QCOMPARE(read->front().at(0), 1.5);
        QCOMPARE(read->front().at(1), -2.5);
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
