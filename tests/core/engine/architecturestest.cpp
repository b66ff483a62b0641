// SPDX-License-Identifier: Apache-2.0
// Which rule lands on which layer of AlexNet, VGG11 with BatchNorm and ResNet-18, narrow but whole, after BatchNorm is
// merged; as zennit's composites have it (docs/rules.md).
#include "core/lrp/composite/composite.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

#include <map>

using namespace retro::rewrite::testing;
using namespace retro;
using Bound = std::shared_ptr<const execute::BoundModel>;
using Ints = std::vector<std::int64_t>;

namespace
{

constexpr std::int64_t kWidth = 4;

/// Layers as PyTorch's model zoo stacks them.
class Stack
{
public:
    explicit Stack(std::int64_t size) : m_x(m_writer.input("x", {1, 3, size, size})) {}

    ValueId conv(const std::string& name, ValueId x, std::int64_t inside, std::int64_t kernel, std::int64_t stride,
                 std::int64_t pad)
    {
        const Tensor weight = randomTensor({kWidth, inside, kernel, kernel}, m_seed++);
        return m_writer.node("Conv", name, {x, m_writer.constant(name + ".weight", weight)},
                             {{"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}});
    }
    void conv(const std::string& name, std::int64_t kernel, std::int64_t stride, std::int64_t pad)
    {
        m_x = conv(name, m_x, m_inside, kernel, stride, pad);
        m_inside = kWidth;
    }
    void batchNorm(const std::string& name) { m_x = m_writer.batchNorm(name, m_x, kWidth); }
    void apply(const std::string& op, const std::string& name, Attributes attributes = {})
    {
        m_x = m_writer.node(op, name, {m_x}, std::move(attributes));
    }
    void maxPool(const std::string& name, std::int64_t kernel, std::int64_t stride, std::int64_t pad)
    {
        apply("MaxPool", name,
              {{"kernel_shape", Ints{kernel, kernel}},
               {"strides", Ints{stride, stride}},
               {"pads", Ints{pad, pad, pad, pad}}});
    }
    void dense(const std::string& name, std::int64_t inside, std::int64_t outside)
    {
        m_x = m_writer.node("Gemm", name,
                            {m_x, m_writer.constant(name + ".weight", randomTensor({inside, outside}, m_seed++)),
                             m_writer.constant(name + ".bias", randomTensor({outside}, m_seed++))});
    }
    /// A basic block; `stride` 2 has a convolution on the way around.
    void block(const std::string& name, std::int64_t stride)
    {
        ValueId around = m_x;
        if (stride != 1) {
            around = m_writer.batchNorm(name + ".downsample.1", conv(name + ".downsample.0", m_x, kWidth, 1, stride, 0),
                                        kWidth);
        }
        conv(name + ".conv1", 3, stride, 1);
        batchNorm(name + ".bn1");
        apply("Relu", name + ".relu1");
        conv(name + ".conv2", 3, 1, 1);
        batchNorm(name + ".bn2");
        m_x = m_writer.node("Add", name + ".sum", {m_x, around});
        apply("Relu", name + ".relu2");
    }
    Bound finish()
    {
        m_writer.output(m_x);
        const auto rewritten = rewrite::rewrite(m_writer.finish(), rewrite::RewriteOptions());
        if (!rewritten.ok()) {
            return nullptr;
        }
        std::vector<ops::TensorType> types;
        for (const ValueId input : rewritten->graph->inputs()) {
            Shape shape;
            for (const graph::Dimension& dimension : *rewritten->graph->value(input).shape) {
                shape.push_back(*dimension.extent);
            }
            types.push_back({DType::Float32, shape});
        }
        const auto model = execute::BoundModel::bind(rewritten->graph, types, Precision::Float);
        return model.ok() ? *model : nullptr;
    }

private:
    Writer m_writer;
    ValueId m_x;
    std::int64_t m_inside = 3;
    unsigned m_seed = 1;
};

Bound alexNet()
{
    Stack net(63);
    net.conv("features.0", 11, 4, 2);
    net.apply("Relu", "features.1");
    net.maxPool("features.2", 3, 2, 0);
    net.conv("features.3", 5, 1, 2);
    net.apply("Relu", "features.4");
    net.maxPool("features.5", 3, 2, 0);
    for (const int at : {6, 8, 10}) {
        net.conv("features." + std::to_string(at), 3, 1, 1);
        net.apply("Relu", "features." + std::to_string(at + 1));
    }
    net.apply("GlobalAveragePool", "avgpool");
    net.apply("Flatten", "flatten");
    net.apply("Dropout", "classifier.0");
    net.dense("classifier.1", kWidth, 6);
    net.apply("Relu", "classifier.2");
    net.apply("Dropout", "classifier.3");
    net.dense("classifier.4", 6, 6);
    net.apply("Relu", "classifier.5");
    net.dense("classifier.6", 6, 5);
    return net.finish();
}

Bound vgg11()
{
    Stack net(32);
    int at = 0;
    for (const int convolutions : {1, 1, 2, 2, 2}) {
        for (int i = 0; i < convolutions; ++i, at += 3) {
            net.conv("features." + std::to_string(at), 3, 1, 1);
            net.batchNorm("features." + std::to_string(at + 1));
            net.apply("Relu", "features." + std::to_string(at + 2));
        }
        net.maxPool("features." + std::to_string(at++), 2, 2, 0);
    }
    net.apply("GlobalAveragePool", "avgpool");
    net.apply("Flatten", "flatten");
    net.dense("classifier.0", kWidth, 6);
    net.apply("Relu", "classifier.1");
    net.dense("classifier.3", 6, 6);
    net.apply("Relu", "classifier.4");
    net.dense("classifier.6", 6, 5);
    return net.finish();
}

Bound resNet18()
{
    Stack net(32);
    net.conv("conv1", 7, 2, 3);
    net.batchNorm("bn1");
    net.apply("Relu", "relu");
    net.maxPool("maxpool", 3, 2, 1);
    for (int layer = 1; layer <= 4; ++layer) {
        net.block("layer" + std::to_string(layer) + ".0", layer == 1 ? 1 : 2);
        net.block("layer" + std::to_string(layer) + ".1", 1);
    }
    net.apply("GlobalAveragePool", "avgpool");
    net.apply("Flatten", "flatten");
    net.dense("fc", kWidth, 5);
    return net.finish();
}

/// Rules by node name.
std::map<std::string, std::string> rulesOf(const Bound& model, const lrp::Composite& composite)
{
    std::map<std::string, std::string> rules;
    const auto assigned = lrp::assignRules(composite, *model);
    for (std::size_t i = 0; assigned.ok() && i < assigned->size(); ++i) {
        const lrp::RulePointer& rule = (*assigned)[i].rule;
        rules[model->graph().node(graph::NodeId(i)).name] = rule ? rule->text() : "none";
    }
    return rules;
}

} // namespace

class ArchitecturesTest : public QObject
{
    Q_OBJECT

private slots:
    void theLayersAreWhole_data()
    {
        QTest::addColumn<QString>("network");
        QTest::addColumn<int>("convolutions");
        QTest::addColumn<int>("dense");
        QTest::newRow("alexnet") << "alexnet" << 5 << 3;
        QTest::newRow("vgg11") << "vgg11" << 8 << 3;
        QTest::newRow("resnet18") << "resnet18" << 20 << 1;
    }
    void theLayersAreWhole()
    {
        QFETCH(QString, network);
        QFETCH(int, convolutions);
        QFETCH(int, dense);
        const Bound model = m_networks.at(network);
        QVERIFY(model);
        QCOMPARE(count(*model, "Conv"), convolutions);
        QCOMPARE(count(*model, "Gemm"), dense);
        QCOMPARE(count(*model, "BatchNormalization"), 0); // merged
    }

    void rulesLandAsInZennit_data()
    {
        QTest::addColumn<QString>("network");
        QTest::addColumn<QString>("composite");
        QTest::addColumn<QString>("first");
        QTest::addColumn<QString>("convolution");
        QTest::addColumn<QString>("dense");
        const QString e = QStringLiteral("epsilon 1e-06");
        const QString plus = QStringLiteral("z-plus, epsilon 1e-06");
        const QString two = QStringLiteral("alpha-beta 2 1, epsilon 1e-06");
        const QString flat = QStringLiteral("flat, epsilon 1e-06");
        const QString box = QStringLiteral("z-box -3 to 3, epsilon 1e-06");
        for (const auto& [network, model] : m_networks) {
            const auto row = [&, name = network](const char* composite, const QString& first, const QString& others) {
                QTest::newRow(qPrintable(name + ", " + composite)) << name << composite << first << others << e;
            };
            row("epsilon_plus", plus, plus);
            row("epsilon_plus_flat", flat, plus);
            row("epsilon_alpha2_beta1", two, two);
            row("epsilon_alpha2_beta1_flat", flat, two);
            row("epsilon_gamma_box", box, QStringLiteral("gamma 0.25, epsilon 1e-06"));
        }
    }
    void rulesLandAsInZennit()
    {
        QFETCH(QString, network);
        QFETCH(QString, composite);
        QFETCH(QString, first);
        QFETCH(QString, convolution);
        QFETCH(QString, dense);
        const Bound model = m_networks.at(network);
        QVERIFY(model);
        RETRO_MADE(made, lrp::builtinComposite(composite.toStdString(), *model));
        const std::map<std::string, std::string> rules = rulesOf(model, *made);
        QVERIFY(!rules.empty());
        bool isFirst = true;
        for (const graph::Node& node : model->graph().nodes()) {
            const std::map<std::string, QString> expected{{"Conv", isFirst ? first : convolution},
                                                          {"Gemm", dense},
                                                          {"Add", QStringLiteral("norm, epsilon 1e-06")},
                                                          {"GlobalAveragePool", QStringLiteral("norm, epsilon 1e-06")},
                                                          {"Relu", QStringLiteral("pass")},
                                                          {"Dropout", QStringLiteral("pass")},
                                                          {"Flatten", QStringLiteral("pass")},
                                                          {"MaxPool", QStringLiteral("winner-take-all")}};
            QVERIFY2(expected.contains(node.op), node.op.c_str());
            QVERIFY2(QString::fromStdString(rules.at(node.name)) == expected.at(node.op),
                     (node.name + ": " + rules.at(node.name)).c_str());
            isFirst = isFirst && node.op != "Conv";
        }
    }

    /// A map by name in front of a composite by type.
    void namesComeFirst()
    {
        const Bound model = m_networks.at("resnet18");
        QVERIFY(model);
        RETRO_MADE(composite, lrp::builtinComposite("epsilon_plus_flat", *model));
        RETRO_MADE(gamma, lrp::builtinComposite("epsilon_gamma_box:gamma=0.5", *model));
        const auto byRule = std::ranges::find_if(
            gamma->entries, [](const lrp::CompositeEntry& each) { return each.rule->text().starts_with("gamma"); });
        QVERIFY(byRule != gamma->entries.end());
        lrp::CompositeEntry byName = *byRule;
        byName.matcher = {};
        byName.matcher.nameGlob = "layer3.*.conv2";
        composite->entries.insert(composite->entries.begin(), byName);
        const std::map<std::string, std::string> rules = rulesOf(model, *composite);
        for (const char* name : {"layer3.0.conv2", "layer3.1.conv2"}) {
            QCOMPARE(QString::fromStdString(rules.at(name)), QStringLiteral("gamma 0.5, epsilon 1e-06"));
        }
        for (const char* name : {"layer3.0.conv1", "layer3.0.downsample.0", "layer4.0.conv2"}) {
            QCOMPARE(QString::fromStdString(rules.at(name)), QStringLiteral("z-plus, epsilon 1e-06"));
        }
        QCOMPARE(QString::fromStdString(rules.at("conv1")), QStringLiteral("flat, epsilon 1e-06"));
    }

private:
    static int count(const execute::BoundModel& model, const char* op)
    {
        return static_cast<int>(std::ranges::count(model.graph().nodes(), op, &graph::Node::op));
    }

    const std::map<QString, Bound> m_networks{{"alexnet", alexNet()}, {"vgg11", vgg11()}, {"resnet18", resNet18()}};
};

QTEST_GUILESS_MAIN(ArchitecturesTest)
#include "architecturestest.moc"
