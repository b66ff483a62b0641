// SPDX-License-Identifier: Apache-2.0
// A softmax over groups, as graph attention has it: the number that shifts the exponents of a group has no part in it.
#include "tests/core/engine/relevancenetworks.h"

#include <QTest>

using namespace retro;
using namespace retro::engine::testing;

namespace
{

/// What the exponents of a group are shifted by.
enum class Shift : std::uint8_t { None, Largest, Guarded, Negative, OfOthers };

constexpr std::int64_t kGroups = 3;

Tensor whole(const std::vector<std::int64_t>& values)
{
    return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

ValueId shiftedBy(Writer& writer, Shift shift, ValueId x, ValueId groups)
{
    if (shift == Shift::None) {
        return x;
    }
    const ValueId low = writer.constant("low", Tensor::full(tensor::DType::Float32, {kGroups}, -100));
    const ValueId largest = writer.node("ScatterElements", "largest", {low, groups, x},
                                        {{"axis", std::int64_t{0}}, {"reduction", std::string("max")}}, 18);
    const ValueId others = writer.constant("others", whole({1, 2, 0, 1, 2, 0, 1}));
    ValueId m = writer.node("Gather", "own", {largest, shift == Shift::OfOthers ? others : groups});
    if (shift == Shift::Guarded) {
        const ValueId isLost = writer.node("IsInf", "lost", {m});
        m = writer.node("Where", "guarded", {isLost, writer.constant("none", Tensor::scalar(0.0F)), m});
    }
    if (shift == Shift::Negative) {
        return writer.node("Add", "shifted", {writer.node("Neg", "less", {m}), x});
    }
    return writer.node("Sub", "shifted", {x, m});
}

/// scores = Σ over neighbours of softmax(x·W)·value, of seven edges in three groups.
SharedGraph network(Shift shift, double beside)
{
    ValueId in;
    Writer writer = start(in, {7, 4});
    const ValueId product = writer.node("MatMul", "fc", {in, writer.constant("w", randomTensor({4, 1}, 1, -2, 2))});
    const ValueId x = writer.node("Reshape", "x", {product, writer.constant("flat", whole({7}))});
    const ValueId groups = writer.constant("groups", whole({0, 0, 1, 1, 1, 2, 2}));
    const ValueId zeros = writer.constant("zeros", Tensor::zeros(tensor::DType::Float32, {kGroups}));
    const ValueId e = writer.node("Exp", "e", {shiftedBy(writer, shift, x, groups)});
    const ValueId sums = writer.node("ScatterElements", "sums", {zeros, groups, e},
                                     {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}}, 18);
    const ValueId kept =
        writer.node("Add", "kept", {sums, writer.constant("beside", Tensor::scalar(static_cast<float>(beside)))});
    const ValueId p = writer.node("Div", "p", {e, writer.node("Gather", "of edges", {kept, groups})});
    const ValueId value = writer.node("MatMul", "v", {in, writer.constant("wv", randomTensor({4, 1}, 2))});
    const ValueId weighed = writer.node(
        "Mul", "weighed", {p, writer.node("Squeeze", "flat v", {value, writer.constant("last", whole({1}))}, {})});
    const ValueId row = writer.node("Reshape", "row", {weighed, writer.constant("one row", whole({1, 7}))});
    writer.output(writer.node("MatMul", "head", {row, writer.constant("h", randomTensor({7, 2}, 3))}));
    return writer.finish();
}

Tensor relevanceOf(Shift shift, double beside, const std::string& composite, std::string* rule = nullptr)
{
    engine::ExplainRequest request;
    request.inputs = {randomTensor({7, 4}, 4)};
    request.composite = composite;
    request.precision = execute::Precision::Double;
    request.target.kind = engine::TargetRequest::Kind::Class;
    const auto explained = engine::explain(*modelOf(network(shift, beside)), request);
    if (!explained.ok()) {
        qWarning("%s", explained.error().text().c_str());
        return {};
    }
    if (const auto node = explained->model->graph().findNode("shifted"); node && rule != nullptr) {
        *rule = explained->rules[node->index()].rule;
    }
    return explained->relevance[explained->model->graph().inputs()[0].index()];
}

} // namespace

class GroupSoftmaxTest : public QObject
{
    Q_OBJECT

private slots:
    void aShiftTakesNothing_data()
    {
        QTest::addColumn<QString>("composite");
        for (const char* composite : {"epsilon", "epsilon_plus", "attnlrp", "cp_lrp", "gradient"}) {
            QTest::newRow(composite) << QString(composite);
        }
    }

    void aShiftTakesNothing()
    {
        QFETCH(QString, composite);
        const std::string name = composite.toStdString();
        const Tensor plain = relevanceOf(Shift::None, 0, name);
        for (const Shift shift : {Shift::Largest, Shift::Guarded, Shift::Negative}) {
            const double off = apart(relevanceOf(shift, 1e-16, name), plain);
            QVERIFY2(off < 1e-9, qPrintable(QString::number(off)));
        }
    }

    /// What is beside the sum counts more when the exponents are shifted, and other groups' numbers change the result.
    void otherDifferencesKeepTheirRule()
    {
        std::string rule;
        QVERIFY(relevanceOf(Shift::Largest, 0, "epsilon", &rule).isValid());
        QVERIFY(rule.starts_with("signal-take-all"));
        QVERIFY(relevanceOf(Shift::Largest, 1, "epsilon", &rule).isValid());
        QVERIFY(rule.starts_with("norm"));
        QVERIFY(relevanceOf(Shift::OfOthers, 0, "epsilon", &rule).isValid());
        QVERIFY(rule.starts_with("norm"));
    }
};

QTEST_GUILESS_MAIN(GroupSoftmaxTest)
#include "groupsoftmaxtest.moc"
