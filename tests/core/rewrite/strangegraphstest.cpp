// SPDX-License-Identifier: Apache-2.0
// Nodes with too few, too many and absent operands: no rewrite may rely on what a file did not give. What is wrong with
// such a node is said when it is bound.
#include "core/execute/forward.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/schema/schema.h"
#include "core/rewrite/rewrite.h"

#include <QtTest>

#include <array>
#include <random>
#include <sstream>
#include <string>
#include <string_view>

using namespace retro;
using tensor::DType;
using tensor::Tensor;

namespace
{

constexpr std::array kOps{"Add",
                          "Sub",
                          "Mul",
                          "Div",
                          "Pow",
                          "Sqrt",
                          "Neg",
                          "Exp",
                          "Erf",
                          "Tanh",
                          "Sigmoid",
                          "Softplus",
                          "HardSigmoid",
                          "Reciprocal",
                          "Clip",
                          "Relu",
                          "Gelu",
                          "Cast",
                          "IsNaN",
                          "Equal",
                          "Where",
                          "MatMul",
                          "Gemm",
                          "Conv",
                          "Einsum",
                          "ReduceMean",
                          "Softmax",
                          "BatchNormalization",
                          "Reshape",
                          "Transpose",
                          "Squeeze",
                          "Slice",
                          "Gather",
                          "Shape",
                          "ConstantOfShape",
                          "Expand",
                          "Unsqueeze",
                          "Concat",
                          "Dropout",
                          "Identity",
                          "LayerNormalization",
                          "Split",
                          "Attention",
                          "ReduceSum",
                          "Max",
                          "ConvTranspose",
                          "And",
                          "Bernoulli",
                          "ConvInteger",
                          "DeformConv",
                          "DepthToSpace",
                          "DequantizeLinear",
                          "DynamicQuantizeLinear",
                          "Elu",
                          "Flatten",
                          "GRU",
                          "GatherElements",
                          "GatherND",
                          "GlobalMaxPool",
                          "HardSwish",
                          "IsInf",
                          "LSTM",
                          "LeakyRelu",
                          "Less",
                          "LessOrEqual",
                          "MatMulInteger",
                          "MaxPool",
                          "Min",
                          "Mish",
                          "Multinomial",
                          "Not",
                          "PRelu",
                          "Pad",
                          "QLinearConv",
                          "QLinearMatMul",
                          "QuantizeLinear",
                          "RMSNormalization",
                          "RNN",
                          "RandomNormalLike",
                          "Range",
                          "Resize",
                          "ReverseSequence",
                          "ScatterElements",
                          "ScatterND",
                          "Softsign",
                          "SpaceToDepth",
                          "Sum",
                          "Swish",
                          "ThresholdedRelu",
                          "Tile"};
constexpr std::array kMicrosoftOps{"DynamicQuantizeLSTM",  "DynamicQuantizeMatMul", "GatherBlockQuantized",
                                   "MatMulIntegerToFloat", "MatMulNBits",           "QGemm"};
constexpr std::array<std::int64_t, 5> kOpsets{7, 9, 13, 17, 23};

/// A graph of up to twenty nodes that take what came before, or nothing.
class StrangeGraph
{
public:
    /// Odd seeds give every node the operands of its schema, so that the passes look at it.
    explicit StrangeGraph(unsigned seed) : m_isFull(seed % 2 == 1), m_random(seed), m_builder("strange") {}

    graph::Graph make()
    {
        m_opset = kOpsets[below(kOpsets.size())];
        m_builder.setOpset("", m_opset);
        m_values = {m_builder.addInput("x", DType::Float32, tensor::Shape{2, 3, 4, 4}),
                    m_builder.addInput("m", DType::Float32, tensor::Shape{4, 4})};
        addConstant({}, 0.5F);
        addConstant({}, 2);
        addConstant({4}, 1);
        addConstant({4, 4}, 0.25F);
        addConstant({3, 3, 1, 1}, 0.1F);
        const std::size_t count = 2 + below(18);
        for (std::size_t i = 0; i < count; ++i) {
            addNode(i);
        }
        m_builder.addOutput(m_values.back());
        return std::move(m_builder).build().value();
    }

private:
    std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(m_random); }

    void addConstant(const tensor::Shape& shape, double value)
    {
        m_values.push_back(
            m_builder.addConstant("c" + std::to_string(m_values.size()), Tensor::full(DType::Float32, shape, value)));
    }

    /// Those of a schema, half of what may be left out, and three where there may be any number.
    void addOperands(graph::Node& node, std::string_view schema)
    {
        std::istringstream words{std::string(schema)};
        for (std::string word; words >> word;) {
            const bool isLeftOut = word.back() == '?' && below(2) == 0;
            node.inputs.push_back(isLeftOut ? graph::ValueId() : operand());
            for (int more = word.back() == '*' || word.back() == '+' ? 2 : 0; more > 0; --more) {
                node.inputs.push_back(operand());
            }
        }
    }

    graph::ValueId operand()
    {
        const std::size_t choice = below(10);
        if (choice == 0 && !m_isFull) {
            return {};
        }
        return choice < 6 ? m_values.back() : m_values[below(m_values.size())];
    }

    void addNode(std::size_t i)
    {
        graph::Node node;
        const std::size_t op = below(kOps.size() + kMicrosoftOps.size());
        node.op = op < kOps.size() ? kOps[op] : kMicrosoftOps[op - kOps.size()];
        node.domain = op < kOps.size() ? "" : "com.microsoft";
        node.name = "n" + std::to_string(i);
        node.opset = m_opset;
        const ops::OperatorSchema* const schema = ops::schemaOf(node.domain, node.op, node.opset);
        if (m_isFull && schema != nullptr) {
            addOperands(node, schema->operands);
        } else {
            const std::size_t operands = m_isFull ? 3 + 2 * below(2) : below(5);
            for (std::size_t k = 0; k < operands; ++k) {
                node.inputs.push_back(operand());
            }
        }
        if (node.op == "Einsum") {
            node.attributes["equation"] = std::string(below(2) == 0 ? "bhqd,bhkd->bhqk" : "ij,jk->ik");
        }
        if (below(3) == 0) {
            node.attributes["axes"] = std::vector<std::int64_t>{-1};
        }
        if (node.op == "Transpose" && below(2) == 0) {
            node.attributes["perm"] = std::vector<std::int64_t>{0, 2, 1, 3};
        }
        const graph::ValueId result = m_builder.addResult("v" + std::to_string(i));
        node.outputs = {result};
        m_builder.addNode(std::move(node));
        m_values.push_back(result);
    }

    bool m_isFull;
    std::mt19937 m_random;
    graph::GraphBuilder m_builder;
    std::int64_t m_opset = 13;
    std::vector<graph::ValueId> m_values;
};

/// Binds and runs it; false when it is refused, which is what becomes of most.
bool isRun(const std::shared_ptr<const graph::Graph>& graph)
{
    const std::vector<ops::TensorType> types{{DType::Float32, {2, 3, 4, 4}}, {DType::Float32, {4, 4}}};
    const auto model = execute::BoundModel::bind(graph, types, execute::Precision::Float);
    const std::vector<Tensor> inputs{Tensor::full(DType::Float32, types[0].shape, 0.5),
                                     Tensor::full(DType::Float32, types[1].shape, 0.25)};
    return model.ok() && execute::forward(*model, inputs, execute::SavePolicy::Nothing).ok();
}

} // namespace

class StrangeGraphsTest : public QObject
{
    Q_OBJECT

private slots:
    void noRewriteReliesOnOperandsThatAreNotThere()
    {
        std::size_t runs = 0;
        for (unsigned seed = 0; seed < 20'000; ++seed) {
            const auto graph = std::make_shared<const graph::Graph>(StrangeGraph(seed).make());
            const auto rewritten = rewrite::rewrite(graph, {});
            QVERIFY2(!rewritten.ok() || rewritten->graph != nullptr, std::to_string(seed).c_str());
            runs += rewritten.ok() && isRun(rewritten->graph) ? 1 : 0;
        }
        QVERIFY2(runs > 20, std::to_string(runs).c_str());
    }

    void aProductOfOneOperandIsLeftAlone()
    {
        graph::GraphBuilder builder("one", 13);
        const auto x = builder.addInput("x", DType::Float32, tensor::Shape{4, 4});
        const auto scores = builder.addOp("MatMul", "product", {x}, "scores");
        const auto weights = builder.addOp("Softmax", "softmax", {scores}, "weights");
        const auto y = builder.addOp("MatMul", "mix", {weights, x}, "y");
        builder.addOutput(y);
        const auto graph = std::make_shared<const graph::Graph>(std::move(builder).build().value());
        RETRO_MADE(rewritten, rewrite::rewrite(graph, {}));
        QCOMPARE(rewritten->graph->nodeCount(), std::size_t{3});
    }
};

QTEST_APPLESS_MAIN(StrangeGraphsTest)
#include "strangegraphstest.moc"
