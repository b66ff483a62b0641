// SPDX-License-Identifier: Apache-2.0
// The example of docs/extending/operator.md: compiled, run, and compared with the page letter by letter.
#include <QtTest>

#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/registry.h"
#include "tests/docs/snippet.h"

using namespace retro;

namespace
{

// [example]
/// y = 3·x. Element-wise, so it is an activation: its gradient is 3 everywhere and keeps nothing but the operand.
class Triple final : public ops::Operator<ops::ElementWise>
{
public:
    explicit Triple(ops::TensorType type) : Operator(std::move(type)) {}

    std::vector<tensor::Tensor> forward(std::span<const tensor::Tensor> operands) const override
    {
        return {ops::algebra::scale(operands[0], 3)};
    }
    ops::Reads savedForGradient() const override { return ops::Reads::firstOperand(); }
    tensor::Tensor derivative(const tensor::Tensor& x, const tensor::Tensor&) const override
    {
        return ops::algebra::filledLike(x, 3);
    }
    bool derivativeReadsOutput() const override { return false; }
};

/// Checks the node and makes the operator; errors name node, operator, opset and shapes.
ops::BoundResult bindTriple(const ops::BindContext& context)
{
    if (!context.present(0) || !tensor::isFloating(context.operandTypes[0].dtype)) {
        return context.error("Triple needs one floating operand; connect one");
    }
    return ops::bound<Triple>(context.operandTypes[0]);
}

constexpr ops::OperatorDeclaration kTriple{"example", "Triple", 1, 1, "element-wise", true, bindTriple};
// [end]

graph::Graph graphWith(tensor::DType dtype)
{
    graph::GraphBuilder builder("example");
    builder.setOpset("example", 1);
    graph::Node node;
    node.op = "Triple";
    node.domain = "example";
    node.name = std::string("t");
    node.inputs = {builder.addInput("x", dtype, tensor::Shape{3})};
    node.outputs = {builder.addResult("y")};
    const graph::ValueId output = node.outputs[0];
    builder.addNode(std::move(node));
    builder.addOutput(output);
    auto built = std::move(builder).build();
    return std::move(built).value();
}

ops::BoundResult bindIn(const graph::Graph& graph, tensor::DType dtype)
{
    const std::array types{ops::TensorType{dtype, {3}}};
    const std::array<tensor::Tensor, 1> constants{};
    return kTriple.bind({graph, graph::NodeId(std::uint32_t{0}), graph.nodes()[0], types, constants});
}

} // namespace

class ExtendingOperatorTest : public QObject
{
    Q_OBJECT
private slots:
    void computesAndSaysWhatItIs()
    {
        const graph::Graph graph = graphWith(tensor::DType::Float64);
        const auto op = bindIn(graph, tensor::DType::Float64);
        QVERIFY(op.ok());
        const std::vector<double> values{1, -2, 0.5};
        const std::array operands{tensor::Tensor::of<double>({3}, std::span<const double>(values))};
        const auto result = (*op)->forward(operands);
        QCOMPARE(result[0].at(1), -6.0);
        QVERIFY((*op)->structure().kind() == ops::StructureKind::ElementWise);
    }

    void refusesByName()
    {
        const graph::Graph graph = graphWith(tensor::DType::Int64);
        const auto op = bindIn(graph, tensor::DType::Int64);
        QVERIFY(!op.ok());
        QVERIFY(op.error().text().find("Triple") != std::string::npos);
    }

    void pageShowsThisVeryCode()
    {
        const QString code =
            tests::between(tests::sourceText("tests/docs/extendingoperator.cpp"), "// [example]", "// [end]");
        const QString page = tests::between(tests::sourceText("docs/extending/operator.md"), "```cpp", "```");
        QVERIFY(!code.isEmpty());
        QCOMPARE(page, code);
    }
};

QTEST_GUILESS_MAIN(ExtendingOperatorTest)
#include "extendingoperator.moc"
