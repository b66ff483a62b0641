// SPDX-License-Identifier: Apache-2.0
// The element types of a model: what results are rounded to, what overflows, and which type each result has.
#include "core/execute/control/unroll.h"
#include "core/execute/forward.h"
#include "core/execute/runnode.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/kernel/roundnumbers.h"
#include "core/ops/numbertypes.h"

#include <QTest>

#include <bit>
#include <cmath>
#include <memory>
#include <random>

using namespace retro;
using base::ValueId;
using execute::BoundModel;
using execute::Precision;
using execute::SavePolicy;
using tensor::DType;
using tensor::Tensor;

namespace
{

using GraphPointer = std::shared_ptr<const graph::Graph>;

/// A chain of nodes over one input of four elements.
class Chain
{
public:
    explicit Chain(DType type) : m_type(type)
    {
        m_builder.setOpset("", 18);
        m_last = m_builder.addInput("x", type, std::vector<graph::Dimension>{{4, ""}});
    }

    Chain& add(const std::string& op, std::vector<double> constant = {}, graph::Attributes attributes = {})
    {
        const std::string number = std::to_string(m_count++);
        std::vector<ValueId> inputs{m_last};
        if (!constant.empty()) {
            const auto extent = static_cast<std::int64_t>(constant.size());
            inputs.push_back(m_builder.addConstant("c" + number, Tensor::of<double>({extent}, constant).to(m_type)));
        }
        m_last = m_builder.addOp(op, op + number, inputs, "v" + number, std::move(attributes));
        return *this;
    }
    Chain& cast(std::int64_t to, DType type)
    {
        m_type = type;
        return add("Cast", {}, {{"to", to}});
    }
    GraphPointer graph()
    {
        m_builder.addOutput(m_last);
        auto built = std::move(m_builder).build();
        return built ? std::make_shared<const graph::Graph>(std::move(built).value()) : nullptr;
    }

private:
    DType m_type;
    graph::GraphBuilder m_builder{"chain"};
    ValueId m_last;
    int m_count = 0;
};

std::shared_ptr<const BoundModel> boundTo(const GraphPointer& graph, Precision precision)
{
    const std::vector<ops::TensorType> types{{graph->value(graph->inputs()[0]).dtype, {4}}};
    auto bound = BoundModel::bind(graph, types, precision);
    return bound ? std::move(bound).value() : nullptr;
}

execute::ForwardResult runOn(const std::shared_ptr<const BoundModel>& model, const std::vector<double>& x)
{
    const Tensor input = Tensor::of<double>({4}, x);
    return tests::made(execute::forward(model, execute::inRun(model->graph(), std::span(&input, 1), model->precision()),
                                        SavePolicy::All));
}

std::vector<double> numbersOf(const Tensor& t)
{
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < t.size(); ++i) {
        numbers.push_back(t.at(i));
    }
    return numbers;
}

using Numbers = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

} // namespace

class ModelTypesTest : public QObject
{
    Q_OBJECT

private slots:
    /// The loop that vectorises against the conversion of one number: every float16, all midpoints, numbers by chance.
    void roundingIsThatOfOneNumber()
    {
        std::vector<float> numbers;
        for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
            const float half = tensor::halfToFloat(static_cast<std::uint16_t>(bits));
            const float next = tensor::halfToFloat(static_cast<std::uint16_t>(bits + 1));
            numbers.insert(numbers.end(), {half, (half + next) / 2, std::nextafter((half + next) / 2, 0.0F),
                                           tensor::bfloatToFloat(static_cast<std::uint16_t>(bits))});
        }
        std::mt19937 generator(5);
        for (int i = 0; i < 100000; ++i) {
            numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(generator())));
        }
        const Tensor all = Tensor::of<float>({static_cast<std::int64_t>(numbers.size())}, numbers);
        for (const DType type : {DType::Float16, DType::BFloat16}) {
            Tensor rounded = all;
            const std::int64_t beyond = ops::roundNumbers(rounded, type);
            const Tensor expected = all.to(type).to(DType::Float32);
            std::int64_t infinite = 0;
            for (std::int64_t i = 0; i < all.size(); ++i) {
                const float a = rounded.data<float>()[i];
                const float b = expected.data<float>()[i];
                const bool isSame =
                    std::isnan(b) ? std::isnan(a) : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
                if (!isSame) {
                    QFAIL(qPrintable(QString::number(all.at(i), 'g', 17)));
                }
                infinite += std::isinf(b) && std::isfinite(all.data<float>()[i]) ? 1 : 0;
            }
            QCOMPARE(beyond, infinite);
            QVERIFY(beyond > 0);
            QVERIFY(all.bitEqual(Tensor::of<float>(all.shape(), numbers))); // others who hold the memory see no change
        }
    }

    void resultsHoldTheNumbersOfTheirType()
    {
        RETRO_MADE(model, boundTo(Chain(DType::Float16).add("Mul", {3}).add("Add", {2048}).graph(), Precision::Float));
        const execute::ForwardResult result = runOn(model, {0.1, 1.0 / 3, 1e-8, -5});
        // 0.1 and 1/3 in float16, times 3, rounded; then spaced by 2 from 2048 on.
        QCOMPARE(numbersOf(result.value(*model->graph().findValue("v0"))), (Numbers{0.2998046875, 1, 0, -15}));
        QCOMPARE(numbersOf(result.outputs[0]), (Numbers{2048, 2048, 2048, 2033}));
        const Tensor stored = model->inModelType(model->graph().outputs()[0], result.outputs[0]);
        QCOMPARE(stored.dtype(), DType::Float16);
        QCOMPARE(numbersOf(stored), numbersOf(result.outputs[0]));
        QVERIFY(!result.overflow);
    }

    void bfloat16()
    {
        RETRO_MADE(model, boundTo(Chain(DType::BFloat16).add("Add", {1e36}).graph(), Precision::Float));
        const execute::ForwardResult result = runOn(model, {1.0 / 3, 1e30, 3.38953e38, -1e36});
        QCOMPARE(numbersOf(result.outputs[0])[0], numbersOf(result.outputs[0])[1]); // 8 bits of 1e36
        QCOMPARE(numbersOf(result.outputs[0])[2], kInfinity);                       // float32 would hold the sum
        QCOMPARE(numbersOf(result.outputs[0])[3], 0.0);
        QVERIFY(result.overflow);
        QCOMPARE(model->inModelType(model->graph().outputs()[0], result.outputs[0]).dtype(), DType::BFloat16);
    }

    /// The first node counts, not the last, and not what was infinite before.
    void theFirstOverflowIsNamed()
    {
        const auto model =
            boundTo(Chain(DType::Float16).add("Relu").add("Mul", {1000}).add("Mul", {1000}).graph(), Precision::Float);
        QVERIFY(model);
        const execute::ForwardResult result = runOn(model, {65.5, 66, 70, kInfinity});
        QCOMPARE(numbersOf(result.value(*model->graph().findValue("v1"))),
                 (Numbers{65504, kInfinity, kInfinity, kInfinity}));
        QVERIFY(result.overflow);
        QCOMPARE(model->graph().node(result.overflow->node).name, std::string("Mul1"));
        QCOMPARE(model->graph().value(result.overflow->value).name, std::string("v1"));
        QCOMPARE(result.overflow->type, DType::Float16);
        QCOMPARE(result.overflow->count, std::int64_t{2});
        QVERIFY(!runOn(model, {0.05, 0, -1, kInfinity}).overflow);
    }

    /// What is computed again has the same bits.
    void aNodeRunsAgainAsItRan()
    {
        RETRO_MADE(model, boundTo(Chain(DType::Float16).add("Exp").add("Div", {3}).graph(), Precision::Float));
        const execute::ForwardResult result = runOn(model, {0.1, 0.2, 0.3, 9});
        for (std::size_t i = 0; i < model->graph().nodeCount(); ++i) {
            RETRO_MADE(again, execute::runNode(
                                  *model, base::NodeId(i), [&](ValueId value) { return result.saved.anyValue(value); },
                                  execute::RunKind::Again));
            QVERIFY(again->front().bitEqual(result.saved.anyValue(model->graph().node(base::NodeId(i)).outputs[0])));
        }
    }

    void castsRoundInBothPrecisionsThatKeepTypes()
    {
        const auto graph = Chain(DType::Float64)
                               .cast(1, DType::Float32)
                               .cast(10, DType::Float16)
                               .cast(11, DType::Float64)
                               .add("Mul", {0.1})
                               .graph();
        const Numbers x{1 + 0x1p-30, 1.0 / 3, 1e300, 2049};
        RETRO_MADE(declared, boundTo(graph, Precision::Declared));
        const auto typed = runOn(declared, x);
        QCOMPARE(numbersOf(typed.value(*graph->findValue("v0"))),
                 (Numbers{1, static_cast<double>(1.0F / 3), kInfinity, 2049}));
        QCOMPARE(numbersOf(typed.value(*graph->findValue("v2"))), (Numbers{1, 0.333251953125, kInfinity, 2048}));
        QCOMPARE(numbersOf(typed.outputs[0]), (Numbers{0.1, 0.333251953125 * 0.1, kInfinity, 2048 * 0.1}));
        QVERIFY(typed.overflow);
        QCOMPARE(graph->value(typed.overflow->value).name, std::string("v0"));
        const auto wide = runOn(boundTo(graph, Precision::Double), x); // nothing is rounded
        QCOMPARE(numbersOf(wide.value(*graph->findValue("v2"))), x);
        QVERIFY(!wide.overflow);
        const auto narrow = runOn(boundTo(graph, Precision::Float), x);
        QCOMPARE(numbersOf(narrow.value(*graph->findValue("v2"))), (Numbers{1, 0.333251953125, kInfinity, 2048}));
    }

    /// A float32 model pays nothing: no result of it is rounded.
    void float32IsNotRounded()
    {
        RETRO_MADE(model, boundTo(Chain(DType::Float32).add("Mul", {3}).add("Relu").graph(), Precision::Float));
        for (std::size_t i = 0; i < model->graph().nodeCount(); ++i) {
            QVERIFY(!model->op(base::NodeId(i)).roundedTo(0));
        }
    }

    void typesFollowFromOperators()
    {
        using Types = std::vector<DType>;
        const auto results = [](const char* op, const Types& operands, graph::Attributes attributes = {},
                                std::size_t outputs = 1) {
            graph::Node node{op,
                             "",
                             "n",
                             "",
                             18,
                             std::vector<ValueId>(operands.size(), ValueId(std::size_t{0})),
                             std::vector<ValueId>(outputs, ValueId(std::size_t{0})),
                             std::move(attributes)};
            return ops::resultNumbers(node, operands);
        };
        constexpr DType kHalf = DType::Float16;
        constexpr DType kFloat = DType::Float32;
        QCOMPARE(results("Add", {kHalf, kHalf}), Types{kHalf});
        QCOMPARE(results("Where", {DType::Bool, kHalf, kHalf}), Types{kHalf});
        QCOMPARE(results("Cast", {kFloat}, {{"to", std::int64_t{10}}}), Types{kHalf});
        QCOMPARE(results("Cast", {kFloat}, {{"to", std::string("FLOAT16")}}), Types{kHalf});
        QCOMPARE(results("CastLike", {kFloat, kHalf}), Types{kHalf});
        QCOMPARE(results("Resize", {kHalf, kFloat, kFloat}), Types{kHalf});
        QCOMPARE(results("BatchNormalization", {kHalf, kFloat, kFloat, kFloat, kFloat}), Types{kHalf});
        QCOMPARE(results("Pow", {kHalf, kFloat}), Types{kHalf});
        QCOMPARE(results("OneHot", {kFloat, kFloat, kHalf}), Types{kHalf});
        QCOMPARE(results("LayerNormalization", {kHalf, kHalf}, {}, 3), (Types{kHalf, kFloat, kFloat}));
        QCOMPARE(results("DequantizeLinear", {DType::UInt8, kHalf, DType::UInt8}), Types{kHalf});
        QCOMPARE(results("ConstantOfShape", {DType::Int64}), Types{kFloat});
        QCOMPARE(results("ConstantOfShape", {DType::Int64}, {{"value", Tensor::zeros(kHalf, {1})}}), Types{kHalf});
        QCOMPARE(results("HannWindow", {DType::Int64}, {{"output_datatype", std::int64_t{11}}}), Types{DType::Float64});
        QCOMPARE(results("TopK", {kHalf, DType::Int64}, {}, 2), (Types{kHalf, DType::Int64}));
    }

    /// A Loop whose body doubles a float16 number: written out, it overflows where the model does.
    void loopsHaveTheTypesOfTheModel()
    {
        graph::GraphBuilder inner("body", 18);
        inner.addInput("i", DType::Int64, std::vector<graph::Dimension>{});
        const ValueId condition = inner.addInput("go", DType::Bool, std::vector<graph::Dimension>{});
        const ValueId state = inner.addInput("s", DType::Float16, std::nullopt);
        const ValueId same = inner.addOp("Identity", "same", {condition}, "go_on");
        const ValueId next = inner.addOp("Add", "double", {state, state}, "next");
        inner.addOutput(same);
        inner.addOutput(next);
        RETRO_MADE(body, std::move(inner).build());
        graph::GraphBuilder outer("loop", 18);
        const ValueId x = outer.addInput("x", DType::Float16, std::vector<graph::Dimension>{{4, ""}});
        const ValueId count = outer.addConstant("count", Tensor::scalar(std::int64_t{3}));
        const ValueId y = outer.addResult("y");
        graph::Subgraph attribute{std::make_shared<const graph::Graph>(std::move(body).value()), 0};
        outer.addNode({"Loop", "", "loop", "", 18, {count, ValueId(), x}, {y}, {{"body", attribute}}});
        outer.addOutput(y);
        RETRO_MADE(built, std::move(outer).build());
        const Tensor input = Tensor::of<double>({4}, Numbers{1.0 / 3, 10000, 20000, 0});
        RETRO_MADE(flat, execute::unroll(*built, std::span(&input, 1), Precision::Float));
        QCOMPARE(ops::numberTypes(*built)[y.index()], DType::Float16);
        RETRO_MADE(model, boundTo(flat->graph, Precision::Float));
        QCOMPARE(model->numbersOf(model->graph().outputs()[0]), DType::Float16);
        const execute::ForwardResult result = runOn(model, numbersOf(input));
        QCOMPARE(numbersOf(result.outputs[0]), (Numbers{0.333251953125 * 8, kInfinity, kInfinity, 0}));
        QVERIFY(!ops::computesInFloat64(*built));
    }

    void float64InsideALoopCounts()
    {
        graph::GraphBuilder inner("branch", 18);
        const ValueId x = inner.addInput("x", DType::Float32, std::nullopt);
        const ValueId wide = inner.addOp("Cast", "up", {x}, "wide", {{"to", std::int64_t{11}}});
        const ValueId back = inner.addOp("Cast", "down", {wide}, "back", {{"to", std::int64_t{1}}});
        inner.addOutput(back);
        RETRO_MADE(branch, std::move(inner).build());
        const graph::Subgraph attribute{std::make_shared<const graph::Graph>(std::move(branch).value()), 1};
        graph::GraphBuilder outer("if", 18);
        const ValueId given = outer.addInput("x", DType::Float32, std::vector<graph::Dimension>{{4, ""}});
        const ValueId gate = outer.addConstant("gate", Tensor::scalar(true));
        const ValueId y = outer.addOp("If", "if", {gate, given}, "y", {{"then_branch", attribute}});
        outer.addOutput(y);
        RETRO_MADE(built, std::move(outer).build());
        QVERIFY(ops::computesInFloat64(*built));
        QCOMPARE(ops::numberTypes(*built)[y.index()], DType::Float32);
    }
};

QTEST_GUILESS_MAIN(ModelTypesTest)
#include "modeltypestest.moc"
