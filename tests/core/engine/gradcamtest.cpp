// SPDX-License-Identifier: Apache-2.0
// Grad-CAM and Grad-CAM++ against pytorch-grad-cam 1.5.7; tests/bench/gradcam.py --write made the files.
#include "core/engine/evaluate/attribution.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/npy.h"
#include "core/tensor/npz.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace retro;

using engine::Subject;
using engine::Units;
using tensor::Tensor;

namespace
{

const std::filesystem::path kFolder = RETRO_SOURCE_DIR "/tests/data/peers/gradcam";

double apart(const Tensor& a, const Tensor& b)
{
    double most = a.shape() == b.shape() ? 0 : std::numeric_limits<double>::infinity();
    for (std::int64_t i = 0; most < 1e300 && i < a.size(); ++i) {
        most = std::max(most, std::abs(a.at(i) - b.at(i)));
    }
    return most;
}

base::Result<engine::Attributed> attributed(const engine::LoadedModelPointer& model, const Tensor& input,
                                            const std::string& method, engine::UnitOptions options = {})
{
    engine::ExplainRequest request;
    request.inputs = {input};
    request.target.kind = engine::TargetRequest::Kind::Class;
    request.target.classIndex = 3;
    RETRO_TRY(const Subject subject, Subject::make(model, request));
    RETRO_TRY(options, engine::decideUnits(options, *model->rewritten.before, subject.inputName(), subject.input()));
    RETRO_TRY(const engine::AttributionPointer made, engine::makeAttribution(method));
    return made->attribute(subject, Units(subject.input(), options));
}

/// Pictures with the channels last, transposed in front of a convolution and behind it: N×4×6×2, and a mean over
/// places.
engine::LoadedModelPointer channelsLast(bool isLast)
{
    graph::GraphBuilder builder("net", 17);
    int count = 0;
    const auto node = [&](const char* op, std::vector<base::ValueId> operands, graph::Attributes attributes = {}) {
        return builder.addOp(op, "", std::move(operands), std::string(op) + std::to_string(++count),
                             std::move(attributes));
    };
    using Ints = std::vector<std::int64_t>;
    base::ValueId x =
        builder.addInput("x", tensor::DType::Float32, isLast ? tensor::Shape{1, 4, 6, 2} : tensor::Shape{1, 2, 4, 6});
    std::vector<double> weights(5 * 2 * 9);
    std::iota(weights.begin(), weights.end(), -40.0);
    const base::ValueId w =
        builder.addConstant("w", Tensor::of<double>({5, 2, 3, 3}, weights).to(tensor::DType::Float32));
    x = isLast ? node("Transpose", {x}, {{"perm", Ints{0, 3, 1, 2}}}) : x;
    x = node("Conv", {x, w}, {{"pads", Ints{1, 1, 1, 1}}});
    x = isLast ? node("Transpose", {x}, {{"perm", Ints{0, 2, 3, 1}}}) : x;
    x = node("Tanh", {x});
    x = node("ReduceMean", {x}, {{"axes", isLast ? Ints{1, 2} : Ints{2, 3}}, {"keepdims", std::int64_t{0}}});
    builder.addOutput(x);
    auto model = engine::parseModel(formats::toOnnx(std::move(builder).build().value()).value(), "net.onnx", {});
    return model.ok() ? *model : nullptr;
}

} // namespace

class GradCamTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        RETRO_MADE(model, engine::loadModel(kFolder / "net.onnx"));
        m_model = *model;
        m_input = tensor::readNpy(kFolder / "x.npy").value();
    }

    void mapsOfThePeer_data()
    {
        QTest::addColumn<QString>("method");
        QTest::newRow("Grad-CAM") << "gradcam";
        QTest::newRow("Grad-CAM++") << "gradcam++";
    }
    void mapsOfThePeer()
    {
        QFETCH(QString, method);
        RETRO_MADE(peer, tensor::readNpz(kFolder / "maps.npz"));
        RETRO_MADE(ours, attributed(m_model, m_input, method.toStdString()));
        QCOMPARE(ours->arrays[0].first, std::string("map"));
        QVERIFY(apart(ours->arrays[0].second, peer->at(method.toStdString() + ".map")) < 1e-5);
        const Tensor& raw = peer->at(method.toStdString() + ".raw");
        double largest = 0;
        for (std::int64_t i = 0; i < raw.size(); ++i) {
            largest = std::max(largest, std::abs(raw.at(i)));
        }
        QVERIFY(apart(ours->arrays[1].second, raw) < 1e-5 * largest);
        QVERIFY(ours->values.shape() == m_input.shape());
        const Tensor& map = ours->arrays[0].second;
        double sum = 0; // of the channels of a place
        for (std::int64_t channel = 0; channel < 3; ++channel) {
            sum += ours->values.at(channel * map.size() + 77);
        }
        QVERIFY(std::abs(sum - map.at(77)) < 1e-6);
    }

    /// The same network with its channels last gives the same map.
    void channelsAtTheLastAxis()
    {
        std::vector<double> values(48);
        std::ranges::generate(values, [i = 0]() mutable { return std::sin(0.1 * i++); });
        const Tensor first = Tensor::of<double>({1, 2, 4, 6}, values).to(tensor::DType::Float32);
        const std::vector<std::int64_t> order{0, 2, 3, 1};
        RETRO_MADE(a, attributed(channelsLast(false), first, "gradcam"));
        RETRO_MADE(b, attributed(channelsLast(true), first.permuted(order).contiguous(), "gradcam"));
        QVERIFY(apart(a->arrays[0].second, b->arrays[0].second) < 1e-6);
        QVERIFY(apart(a->values.permuted(order).contiguous(), b->values) < 1e-6);
    }

    void anotherValue()
    {
        const auto last = attributed(m_model, m_input, "gradcam");
        std::string relu;
        for (const graph::Node& node : m_model->graph()->nodes()) {
            relu = relu.empty() && node.op == "Relu" ? m_model->graph()->value(node.outputs.front()).name : relu;
        }
        RETRO_MADE(other, attributed(m_model, m_input, "gradcam:" + relu));
        QVERIFY(other->how.find(relu) != std::string::npos);
        QVERIFY((other->arrays[1].second.shape() == tensor::Shape{16, 20}));
        QVERIFY(apart(other->arrays[0].second, last->arrays[0].second) > 0.01);
    }

    void refusals()
    {
        const auto none = attributed(m_model, m_input, "gradcam:nothing");
        QVERIFY(!none.ok() && none.error().text().find("\"nothing\"") != std::string::npos);
        const auto flat = attributed(m_model, m_input, "gradcam:scores");
        QVERIFY(!flat.ok() && flat.error().text().find("channels and places") != std::string::npos);
        engine::UnitOptions elements;
        elements.channels = engine::ChannelAxis::None;
        const auto uncut = attributed(m_model, m_input, "gradcam", elements);
        QVERIFY(!uncut.ok() && uncut.error().text().find("--channel-axis") != std::string::npos);
    }

private:
    engine::LoadedModelPointer m_model;
    Tensor m_input;
};

QTEST_GUILESS_MAIN(GradCamTest)
#include "gradcamtest.moc"
