// SPDX-License-Identifier: Apache-2.0
// Models of float16, bfloat16 and float64: the precision that they are run in, results in their type, the warning of
// what overflows, and the same bits in every engine.
#include "core/engine/explain/runforward.h"
#include "core/engine/model/precision.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "tests/core/engine/samerelevance.h"

#include <QtTest>

#include <cmath>

using namespace retro;
using base::ValueId;
using execute::Precision;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// Writes a model and reads it as a file is read.
class ModelWriter
{
public:
    explicit ModelWriter(DType type) : m_type(type) { m_builder.setOpset("", 18); }

    ValueId input(const char* name, tensor::Shape shape) { return m_builder.addInput(name, m_type, std::move(shape)); }
    ValueId constant(const char* name, tensor::Shape shape, const std::vector<double>& values)
    {
        return m_builder.addConstant(name, Tensor::of<double>(std::move(shape), values).to(m_type));
    }
    ValueId node(const char* op, const char* name, std::vector<ValueId> inputs, graph::Attributes attributes = {})
    {
        return m_builder.addOp(op, name, std::move(inputs), std::string(name) + "_out", std::move(attributes));
    }
    void type(DType type) { m_type = type; }
    engine::LoadedModelPointer model(ValueId output, DType type, const rewrite::RewriteOptions& options = {})
    {
        m_builder.declare(output, type, std::nullopt);
        m_builder.addOutput(output);
        const graph::Graph built = tests::made(std::move(m_builder).build());
        return tests::made(engine::parseModel(formats::toOnnx(built).value(), "types.onnx", {}, options));
    }

private:
    DType m_type;
    graph::GraphBuilder m_builder{"types"};
};

std::vector<double> drawn(std::size_t count, double step)
{
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) {
        values[i] = std::sin(step * static_cast<double>(i + 1));
    }
    return values;
}

/// A residual layer, which raises promises, with a normalisation, a product and functions in between.
engine::LoadedModelPointer network(DType type, double factor = 1)
{
    ModelWriter w(type);
    const ValueId x = w.input("x", {2, 6});
    const ValueId h = w.node("MatMul", "first", {x, w.constant("V", {6, 6}, drawn(36, 0.7))});
    const ValueId shifted = w.node("Add", "bias", {h, w.constant("b", {6}, drawn(6, 0.3))});
    const ValueId gate = w.node("Sigmoid", "gate", {shifted});
    const ValueId product = w.node("Mul", "swish", {shifted, gate});
    const ValueId scaled = w.node("Mul", "scale", {product, w.constant("factor", {}, {factor})});
    const ValueId sum = w.node("Add", "skip", {w.node("Relu", "act", {scaled}), shifted});
    const ValueId norm = w.node("LayerNormalization", "norm",
                                {sum, w.constant("g", {6}, drawn(6, 1.1)), w.constant("d", {6}, drawn(6, 0.9))});
    const ValueId turned = w.node("Transpose", "turn", {norm}, {{"perm", std::vector<std::int64_t>{1, 0}}});
    const ValueId back =
        w.node("Transpose", "back", {w.node("Tanh", "tanh", {turned})}, {{"perm", std::vector<std::int64_t>{1, 0}}});
    return w.model(w.node("MatMul", "last", {back, w.constant("W", {6, 3}, drawn(18, 1.7))}), type);
}

Tensor inputOf(double step = 0.37) { return Tensor::of<double>({2, 6}, drawn(12, step)); }

engine::ExplainRequest question(const engine::LoadedModel& model, const char* composite)
{
    engine::ExplainRequest request;
    request.inputs = {inputOf()};
    request.composite = composite;
    request.precision = engine::precisionOf(model);
    request.goesOnWhenNotFinite = true;
    return request;
}

/// First value that the two ways differ in, or the error.
std::string parted(const engine::LoadedModelPointer& model, const engine::ExplainRequest& a,
                   const engine::ExplainRequest& b)
{
    engine::Explainer explainer(model);
    const auto first = explainer.explain(a);
    const auto second = explainer.explain(b);
    if (!first || !second) {
        return (first ? second : first).error().text();
    }
    return tests::differenceOf(*first, *second);
}

} // namespace

class EngineTypesTest : public QObject
{
    Q_OBJECT

private slots:
    void thePrecisionFollowsFromTheModel()
    {
        QCOMPARE(engine::precisionOf(*network(DType::Float32)), Precision::Float);
        QCOMPARE(engine::precisionOf(*network(DType::Float16)), Precision::Float);
        QCOMPARE(engine::precisionOf(*network(DType::Float64)), Precision::Declared);
        const auto half = network(DType::Float16);
        QCOMPARE(engine::precisionText(*half->graph(), Precision::Float),
                 std::string("float32; float16 values are rounded to their type behind every operator"));
        QCOMPARE(engine::precisionText(*half->graph(), Precision::Double), std::string("float64"));
        QVERIFY(engine::roundedTypes(*network(DType::Float32)->graph(), Precision::Float).empty());
        QCOMPARE(engine::precisionText(*network(DType::Float64)->graph(), Precision::Declared),
                 std::string("float64, which the model has"));
    }

    void resultsHaveTheTypeOfTheModel_data()
    {
        QTest::addColumn<int>("type");
        for (const DType type : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
            QTest::newRow(std::string(tensor::nameOf(type)).c_str()) << static_cast<int>(type);
        }
    }

    void resultsHaveTheTypeOfTheModel()
    {
        QFETCH(int, type);
        const auto declared = static_cast<DType>(type);
        const auto model = network(declared);
        RETRO_MADE(result, engine::runForward(*model, {inputOf()}, engine::precisionOf(*model)));
        QCOMPARE(result->outputs[0].dtype(), declared);
        QVERIFY(result->warnings.empty());
        RETRO_MADE(wide, engine::runForward(*model, {inputOf()}, Precision::Double));
        QCOMPARE(wide->outputs[0].dtype(), DType::Float64);
        const bool isRounded = declared == DType::Float16 || declared == DType::BFloat16;
        double distance = 0;
        for (std::int64_t i = 0; i < wide->outputs[0].size(); ++i) {
            distance = std::max(distance, std::abs(wide->outputs[0].at(i) - result->outputs[0].at(i)));
        }
        QVERIFY2(isRounded ? distance > 1e-5 && distance < 0.1 : distance < 1e-5,
                 qPrintable(QString::number(distance)));
        QCOMPARE(distance == 0, declared == DType::Float64);
    }

    void everyEngineHasTheSameBits_data()
    {
        QTest::addColumn<int>("type");
        QTest::addColumn<QString>("composite");
        for (const DType type : {DType::Float16, DType::BFloat16, DType::Float64}) {
            for (const char* composite : {"epsilon", "epsilon_plus", "gradient", "gradient_x_input", "attnlrp"}) {
                const std::string row = std::string(tensor::nameOf(type)) + " " + composite;
                QTest::newRow(row.c_str()) << static_cast<int>(type) << composite;
            }
        }
    }

    void everyEngineHasTheSameBits()
    {
        QFETCH(int, type);
        QFETCH(QString, composite);
        const auto model = network(static_cast<DType>(type), 100);
        const engine::ExplainRequest promise = question(*model, composite.toUtf8().constData());
        engine::ExplainRequest all = promise;
        all.save = execute::SavePolicy::All;
        engine::ExplainRequest oracle = promise;
        oracle.engine = engine::EngineKind::Oracle;
        engine::ExplainRequest compiled = promise;
        compiled.engine = engine::EngineKind::Compiled;
        engine::ExplainRequest rebuilt = promise;
        rebuilt.forwarding.emplace();
        rebuilt.forwarding->strategy = engine::ForwardStrategy::Rebuild;
        for (const engine::ExplainRequest& other : {all, oracle, compiled, rebuilt}) {
            const std::string off = parted(model, promise, other);
            QVERIFY2(off.empty(), off.c_str());
        }
    }

    // A result that is rounded to bfloat16 is no sum of its parts: the ledger says so, and leaves nothing unexplained.
    void theLedgerKnowsRoundedResults_data() { everyEngineHasTheSameBits_data(); }

    void theLedgerKnowsRoundedResults()
    {
        QFETCH(int, type);
        QFETCH(QString, composite);
        const auto model = network(static_cast<DType>(type));
        RETRO_MADE(result, engine::explain(*model, question(*model, composite.toUtf8().constData())));
        QVERIFY(!result->ledger.empty());
        for (const event::LedgerEntry& row : result->ledger) {
            QVERIFY2(std::abs(row.unexplained()) <= 1e-6 * row.magnitude, qPrintable(QString::number(row.node)));
        }
    }

    void whatOverflowsIsSaid()
    {
        const auto model = network(DType::Float16, 60000);
        RETRO_MADE(result, engine::runForward(*model, {inputOf()}, engine::precisionOf(*model)));
        QCOMPARE(result->warnings.size(), std::size_t{1});
        const QString warning = QString::fromStdString(result->warnings[0]);
        QVERIFY2(warning.startsWith("node 'scale' (Mul): its result \"scale_out\" is float16 in the model, whose "
                                    "largest number is 65504; "),
                 qPrintable(warning));
        engine::ExplainRequest request = question(*model, "epsilon");
        const auto stopped = engine::explain(*model, request);
        QVERIFY(!stopped.ok() && stopped.error().text().ends_with(result->warnings[0]));
        request.target.kind = engine::TargetRequest::Kind::Class; // argmax chooses among finite scores alone
        RETRO_MADE(explained, engine::explain(*model, request));
        QVERIFY(std::ranges::find(explained->warnings, result->warnings[0]) != explained->warnings.end());
        const auto wide = engine::runForward(*model, {inputOf()}, Precision::Double);
        QVERIFY(wide.ok() && wide->warnings.empty());
    }

    /// A float64 model without a flag has the digits of float64, and so has its relevance.
    void float64IsComputedInFloat64()
    {
        ModelWriter w(DType::Float64);
        const ValueId x = w.input("x", {3});
        const ValueId y = w.node(
            "Add", "sum", {w.node("Mul", "product", {x, w.constant("c", {}, {0.1})}), w.constant("d", {}, {1e-12})});
        const auto model = w.model(y, DType::Float64);
        const std::vector<double> numbers{0.3, 1.0 / 3, 1e10};
        RETRO_MADE(result, engine::runForward(*model, {Tensor::of<double>({3}, numbers)}, engine::precisionOf(*model)));
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            QCOMPARE(result->outputs[0].at(static_cast<std::int64_t>(i)), numbers[i] * 0.1 + 1e-12);
        }
        engine::ExplainRequest request;
        request.inputs = {Tensor::of<double>({3}, numbers)};
        request.composite = "gradient";
        request.precision = engine::precisionOf(*model);
        request.start.kind = engine::StartKind::One;
        request.target.kind = engine::TargetRequest::Kind::Class;
        RETRO_MADE(explained, engine::explain(*model, request));
        const Tensor& relevance = explained->relevance[explained->model->graph().inputs()[0].index()];
        QCOMPARE(relevance.dtype(), DType::Float64);
        QCOMPARE(relevance.at(0), 0.1);
    }

    /// Folded or not, a constant is rounded by the nodes that compute it.
    void foldedConstantsAreRounded()
    {
        const auto made = [](bool isFolded) {
            ModelWriter w(DType::Float16);
            const ValueId x = w.input("x", {2});
            w.type(DType::Float32);
            const ValueId third = w.constant("third", {2}, {1.0 / 3, 70000});
            const ValueId half = w.node("Cast", "down", {third}, {{"to", std::int64_t{10}}});
            const ValueId squared = w.node("Mul", "square", {half, half});
            rewrite::RewriteOptions options;
            options.foldConstants = isFolded;
            return w.model(w.node("Mul", "use", {x, squared}), DType::Float16, options);
        };
        const Tensor x = Tensor::of<double>({2}, std::vector<double>{1, 1});
        const auto folded = made(true);
        const auto plain = made(false);
        QVERIFY(folded->graph()->nodeCount() < plain->graph()->nodeCount());
        const auto a = engine::runForward(*folded, {x}, engine::precisionOf(*folded));
        const auto b = engine::runForward(*plain, {x}, engine::precisionOf(*plain));
        QVERIFY(a.ok() && b.ok());
        QVERIFY(a->outputs[0].bitEqual(b->outputs[0]));
        QCOMPARE(a->outputs[0].at(0),
                 static_cast<double>(tensor::halfToFloat(tensor::floatToHalf(0.333251953125F * 0.333251953125F))));
        QVERIFY(std::isinf(a->outputs[0].at(1)));
    }

    /// Inputs of more digits than the model takes are rounded as they come in.
    void inputsAreRounded()
    {
        ModelWriter w(DType::Float16);
        const ValueId x = w.input("x", {1});
        const auto model = w.model(w.node("Sub", "rest", {x, w.constant("c", {}, {1})}), DType::Float16);
        RETRO_MADE(result, engine::runForward(*model, {Tensor::of<double>({1}, std::vector<double>{1.0001})},
                                              engine::precisionOf(*model)));
        QCOMPARE(result->outputs[0].at(0), 0.0);
    }
};

QTEST_GUILESS_MAIN(EngineTypesTest)
#include "enginetypestest.moc"
