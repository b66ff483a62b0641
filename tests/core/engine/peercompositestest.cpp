// SPDX-License-Identifier: Apache-2.0
// Composites against zennit 0.5.1: the relevance of the input of a small network with BatchNorm, a residual sum, max
// and average pooling, in double. tests/bench/composites.py --write made the files.
#include "core/engine/explain/explain.h"
#include "core/tensor/npy.h"
#include "core/tensor/npz.h"

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace retro;

using tensor::Tensor;

namespace
{

const std::filesystem::path kFolder = RETRO_SOURCE_DIR "/tests/data/peers/zennit";

} // namespace

class PeerCompositesTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        RETRO_MADE(model, engine::loadModel(kFolder / "net.onnx"));
        m_model = *model;
        m_input = tensor::readNpy(kFolder / "x.npy").value();
        RETRO_MADE(relevance, tensor::readNpz(kFolder / "relevance.npz"));
        m_relevance = *relevance;
    }

    void theRelevanceOfTheInput_data()
    {
        QTest::addColumn<QString>("composite");
        for (const auto& [name, tensor] : m_relevance) {
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
        }
        QCOMPARE(m_relevance.size(), std::size_t{11});
    }
    void theRelevanceOfTheInput()
    {
        QFETCH(QString, composite);
        engine::ExplainRequest request;
        request.start = engine::parseStart("logit").value();
        request.target = engine::parseTarget("2").value();
        request.inputs = {m_input};
        request.composite = composite.toStdString();
        request.precision = execute::Precision::Double;
        RETRO_MADE(result, engine::explain(*m_model, request));
        const Tensor& ours = result->relevance[result->model->graph().inputs()[0].index()];
        const Tensor& peer = m_relevance.find(composite.toStdString())->second;
        QCOMPARE(ours.shape(), peer.shape());
        double largest = 0;
        double apart = 0;
        for (std::int64_t i = 0; i < peer.size(); ++i) {
            largest = std::max(largest, std::abs(peer.at(i)));
            apart = std::max(apart, std::abs(ours.at(i) - peer.at(i)));
        }
        QVERIFY(largest > 0);
        QVERIFY2(apart <= 1e-12 * largest, qPrintable(QStringLiteral("%1 of %2").arg(apart).arg(largest)));
    }

private:
    engine::LoadedModelPointer m_model;
    Tensor m_input;
    tensor::NamedTensors m_relevance;
};

QTEST_GUILESS_MAIN(PeerCompositesTest)
#include "peercompositestest.moc"
