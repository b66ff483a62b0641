// SPDX-License-Identifier: Apache-2.0
// Files that are given as inputs, fitted to what the model declares.
#include "core/base/memorylimit.h"
#include "core/engine/input/inputs.h"
#include "core/engine/question/resolve.h"
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
    graph::GraphBuilder builder("twice", 13);
    const auto x = builder.addInput("x", DType::Float32, std::move(declared));
    const auto y = builder.addOp("Add", "add", {x, x}, "y");
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
        RETRO_MADE(scalar, engine::resolveInputs({file.toStdString()}, twice({}), {}));
        QVERIFY(scalar->front().shape().empty());
        RETRO_MADE(row, engine::resolveInputs({file.toStdString()}, twice({{1, ""}}), {}));
        QCOMPARE(row->front().shape().size(), std::size_t{1});
    }

    /// NumPy has no bfloat16: uint16 holds its bits.
    void bitsOfBfloat16()
    {
        graph::GraphBuilder builder("halves", 18);
        builder.addOutput(builder.addInput("x", DType::BFloat16, std::vector<graph::Dimension>{{2, ""}}));
        const QString file = m_folder.filePath("bits.npy");
        const std::vector<double> bits{0x3fc0, 0xc020};
        QVERIFY(tensor::writeNpy(file.toStdString(), Tensor::of<double>({2}, bits).to(DType::UInt16)).ok());
        RETRO_MADE(read, engine::resolveInputs({file.toStdString()}, std::move(builder).build().value(), {}));
        QCOMPARE(read->front().dtype(), DType::BFloat16);
        QCOMPARE(read->front().at(0), 1.5);
        QCOMPARE(read->front().at(1), -2.5);
    }

    void anArchiveGivesTheArrayOfTheInput()
    {
        const std::string folder = RETRO_SOURCE_DIR "/tests/data/npz/";
        graph::GraphBuilder builder("block", 13);
        builder.addOutput(builder.addInput("block/x", DType::Float32, std::nullopt));
        const graph::Graph block = std::move(builder).build().value();
        RETRO_MADE(read, engine::resolveInputs({folder + "deflated.npz"}, block, {}));
        QVERIFY(read->front().size() > 0);
        RETRO_REFUSED(engine::resolveInputs({folder + "deflated.npz"}, twice({}), {}), "is called 'x'");
        RETRO_REFUSED(engine::resolveInputs({"-"}, twice({}), {}), "standard input is not read");
    }

    /// A layout that nobody says is the one that the axes of the input can have alone.
    void theLayoutOfPixelsIsThatOfTheInput()
    {
        const auto layoutOf = [](std::vector<graph::Dimension> shape, const std::string& asked) {
            engine::LoadedModel model;
            model.rewritten.graph = std::make_shared<const graph::Graph>(twice(std::move(shape)));
            engine::Question question;
            question.layout = asked;
            return engine::pictureOptions(question, model).value().layout;
        };
        QCOMPARE(layoutOf({{1, ""}, {24, ""}, {24, ""}, {3, ""}}, ""), std::string("NHWC"));
        QCOMPARE(layoutOf({{1, ""}, {24, ""}, {24, ""}, {3, ""}}, "NCHW"), std::string("NCHW"));
        QCOMPARE(layoutOf({{1, ""}, {3, ""}, {24, ""}, {24, ""}}, ""), std::string("NCHW"));
        QCOMPARE(layoutOf({{1, ""}, {3, ""}, {24, ""}, {3, ""}}, ""), std::string("NCHW"));
    }

    void twoNumbersAreNone()
    {
        const QString file = m_folder.filePath("two.npy");
        QVERIFY(tensor::writeNpy(file.toStdString(), Tensor::zeros(DType::Float32, {2})).ok());
        RETRO_MADE(pair, engine::resolveInputs({file.toStdString()}, twice({}), {},
                                               {})); // what does not fit is refused when the model is bound
        QCOMPARE(pair->front().shape().size(), std::size_t{1});
    }

    void whatNoMachineHasRoomForIsRefused_data()
    {
        QTest::addColumn<std::int64_t>("extent");
        QTest::addColumn<QString>("shape");
        QTest::addColumn<QString>("reason");
        QTest::newRow("wraps around") << (std::int64_t{1} << 62) + 1 << "4611686018427387905 × 4"
                                      << "more than";
        QTest::newRow("most") << INT64_MAX << "9223372036854775807 × 4"
                              << "more than";
        QTest::newRow("negative") << std::int64_t{-2} << "-2 × 4"
                                  << "negative extent";
        QTest::newRow("counted") << (std::int64_t{1} << 36) << "68719476736 × 4"
                                 << "needs 1.1 TB";
    }

    void whatNoMachineHasRoomForIsRefused()
    {
        QFETCH(const std::int64_t, extent);
        QFETCH(const QString, shape);
        QFETCH(const QString, reason);
        for (const char* source : {"zeros", "random:1"}) {
            const auto made = engine::resolveInputs({source}, twice({{extent, ""}, {4, ""}}), {});
            RETRO_REFUSED(made, base::ErrorCode::Input);
            const QString text = QString::fromStdString(made.error().text());
            QVERIFY2(text.startsWith("input 'x' [" + shape + "]"), qPrintable(text));
            QVERIFY2(text.contains(reason), qPrintable(text));
        }
    }

    void theLimitCounts()
    {
        base::MemoryLimit::choose(1000);
        const auto made = engine::resolveInputs({"zeros"}, twice({{401, ""}}), {});
        base::MemoryLimit::choose(std::nullopt);
        RETRO_REFUSED(made, "needs 1.6 kB, but 1.0 kB of memory");
    }

    void aModelWithoutInputsSaysSo()
    {
        graph::GraphBuilder builder("constant", 13);
        builder.addOutput(builder.addConstant("c", Tensor::zeros(DType::Float32, {2})));
        const auto none = engine::resolveInputs({"zeros"}, std::move(builder).build().value(), {});
        RETRO_REFUSED(none, "has no inputs");
    }

private:
    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(ResolveInputsTest)
#include "resolveinputstest.moc"
