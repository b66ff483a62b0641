// SPDX-License-Identifier: Apache-2.0
#include "core/formats/scores.h"

#include "core/graph/graphbuilder.h"

#include <QTest>

#include <cmath>
#include <numeric>

using namespace retro;
using namespace retro::formats;

namespace
{

/// scores → `op` → out.
ScoreKind kindBehind(std::string_view op, std::string_view said)
{
    graph::GraphBuilder builder;
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, std::nullopt);
    const base::ValueId y = builder.addResult("y");
    builder.addNode({std::string(op), "", "last", "", 17, {x}, {y}, {}});
    builder.addOutput(y);
    const graph::Graph graph = std::move(builder).build().value();
    return scoreKindOf(graph, graph.outputs().front(), said);
}

} // namespace

class ScoresTest : public QObject
{
    Q_OBJECT

private slots:
    void probabilitiesOfLogitsAddUp()
    {
        const std::vector<double> shares = probabilitiesOf(std::vector<double>{1000, 999, -1000}, ScoreKind::Logits);
        QVERIFY(std::abs(std::accumulate(shares.begin(), shares.end(), 0.0) - 1) < 1e-12);
        QVERIFY(std::abs(shares[0] - 0.7310585786) < 1e-9);
        QVERIFY(probabilitiesOf({}, ScoreKind::Logits).empty());
    }

    void probabilitiesStayAndNumbersHaveNone()
    {
        const std::vector<double> row{0.25, 0.75};
        QCOMPARE(probabilitiesOf(row, ScoreKind::Probabilities), row);
        QVERIFY(probabilitiesOf(row, ScoreKind::Numbers).empty());
    }

    void theGraphSaysUnlessTheCardDoes()
    {
        QCOMPARE(kindBehind("Softmax", ""), ScoreKind::Probabilities);
        QCOMPARE(kindBehind("Sigmoid", ""), ScoreKind::Probabilities);
        QCOMPARE(kindBehind("Relu", ""), ScoreKind::Logits);
        QCOMPARE(kindBehind("LogSoftmax", ""), ScoreKind::Logits); // their softmax is the probabilities again
        QCOMPARE(kindBehind("Relu", "numbers"), ScoreKind::Numbers);
        QCOMPARE(kindBehind("Softmax", "logits"), ScoreKind::Logits);
        QCOMPARE(kindBehind("Relu", "probabilities"), ScoreKind::Probabilities);
    }
};

QTEST_APPLESS_MAIN(ScoresTest)
#include "scorestest.moc"
