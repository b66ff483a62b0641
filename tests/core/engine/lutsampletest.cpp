// SPDX-License-Identifier: Apache-2.0
// The shipped LUT samples: how many held-out inputs they name rightly, and what decided, worked out twice.
#include "core/engine/explain/explain.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/input/inputs.h"
#include "core/engine/lut/lutdecisions.h"
#include "core/engine/results/results.h"
#include "core/ops/algebra.h"
#include "core/ops/tablelookup.h"
#include "core/tensor/npy.h"

#include <QtTest>

#include <array>
#include <cmath>

using namespace retro;
using tensor::Tensor;

namespace
{

const std::filesystem::path kSamples = RETRO_SOURCE_DIR "/samples";

engine::LoadedModelPointer load(const char* file)
{
    auto model = engine::loadModel(kSamples / file);
    return model.ok() ? *model : nullptr;
}

Tensor array(const std::filesystem::path& file)
{
    auto read = tensor::readNpy(kSamples / file);
    return read.ok() ? *read : Tensor();
}

/// Rows of a tensor from `first` on.
template <class T>
Tensor rowsOf(const Tensor& all, std::int64_t first, std::int64_t count)
{
    tensor::Shape shape = all.shape();
    const std::int64_t each = all.size() / shape[0];
    shape[0] = count;
    const Tensor plain = all.contiguous();
    return Tensor::of<T>(
        shape, plain.span<T>().subspan(static_cast<std::size_t>(first * each), static_cast<std::size_t>(count * each)));
}

std::vector<std::int64_t> named(const Tensor& logits)
{
    std::vector<std::int64_t> result;
    const std::int64_t classes = logits.shape()[1];
    for (std::int64_t row = 0; row < logits.shape()[0]; ++row) {
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < classes; ++k) {
            best = logits.at(row * classes + k) > logits.at(row * classes + best) ? k : best;
        }
        result.push_back(best);
    }
    return result;
}

double accuracy(const engine::LoadedModel& model, const Tensor& x, const Tensor& labels)
{
    const auto run = engine::runForward(model, {x}, execute::Precision::Float);
    if (!run.ok()) {
        return 0;
    }
    const std::vector<std::int64_t> answers = named(run->outputs[0]);
    double right = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        right += static_cast<double>(answers[i]) == labels.at(static_cast<std::int64_t>(i)) ? 1 : 0;
    }
    return right / static_cast<double>(answers.size());
}

/// Table and comparison that decided for class `answer`, straight from the numbers of the layer, one loop after the
/// other: the table whose row adds most to the score, and in it the comparison with the largest effect times doubt.
std::array<std::uint32_t, 2> decidedBy(const ops::TableLookup& layer, const Tensor& x, const Tensor& weights,
                                       std::int64_t answer)
{
    const lut::LayerShape& shape = layer.layerShape();
    const auto row = [&](std::uint32_t table) {
        std::uint32_t number = 0;
        for (std::uint32_t k = 0; k < shape.comparisons; ++k) {
            const lut::Anchor pair = layer.anchors()[std::size_t{table} * shape.comparisons + k];
            number |= x.at(pair.a) > x.at(pair.b) ? 1U << k : 0U;
        }
        return number;
    };
    const auto weight = [&](std::uint32_t table, std::uint32_t number) {
        return weights.at((std::int64_t{table} * static_cast<std::int64_t>(shape.rows()) + number) * shape.outputs +
                          answer);
    };
    std::uint32_t table = 0;
    for (std::uint32_t t = 1; t < shape.tables; ++t) {
        table = std::abs(weight(t, row(t))) > std::abs(weight(table, row(table))) ? t : table;
    }
    std::uint32_t best = 0;
    double most = -1;
    for (std::uint32_t k = 0; k < shape.comparisons; ++k) {
        const lut::Anchor pair = layer.anchors()[std::size_t{table} * shape.comparisons + k];
        const double effect = std::abs(weight(table, row(table)) - weight(table, row(table) ^ 1U << k));
        const double amount = effect / (1 + std::abs(x.at(pair.a) - x.at(pair.b)));
        best = amount > most ? k : best;
        most = std::max(most, amount);
    }
    return {table, best};
}

/// The held-out pictures of lut-skips, in 0..1.
Tensor arrows()
{
    return ops::algebra::multiply(array("lut-skips/held-out.npy").to(tensor::DType::Float32),
                                  Tensor::scalar<float>(1.0F / 255));
}

} // namespace

class LutSampleTest : public QObject
{
    Q_OBJECT

private slots:
    void digitsAreNamed()
    {
        RETRO_MADE(model, load("lut-digits/lut-digits.onnx"));
        const double right =
            accuracy(*model, array("lut-digits/held-out.npy"), array("lut-digits/held-out-labels.npy"));
        QVERIFY2(right >= 0.98, qPrintable(QString::number(right)));
    }

    /// One table and one comparison decided for each held-out digit; the explanation names the same ones.
    void whatDecidedADigitIsKnown()
    {
        RETRO_MADE(model, load("lut-digits/lut-digits.onnx"));
        const Tensor all = array("lut-digits/held-out.npy");
        for (std::int64_t i = 0; i < 20; ++i) {
            engine::ExplainRequest request;
            request.inputs = {rowsOf<float>(all, i, 1)};
            request.composite = "epsilon";
            request.precision = execute::Precision::Double;
            request.record = request.keepValues = true;
            RETRO_MADE(result, engine::explain(*model, request));
            const auto layers = engine::lutLayersOf(*result);
            QCOMPARE(layers.size(), std::size_t{1});
            const std::vector<engine::LutDecision>& decisions = layers[0].decisions;
            QCOMPARE(decisions.size(), std::size_t{1});
            RETRO_MADE(node, result->model->graph().findNode("lut1"));
            RETRO_MADE(layer, dynamic_cast<const ops::TableLookup*>(&result->model->op(*node).structure()));
            const Tensor weights =
                result->model->graph().value(*result->model->graph().findValue("lut1.rows")).constant;
            const auto expected = decidedBy(*layer, request.inputs[0], weights, named(result->outputs[0])[0]);
            QCOMPARE(decisions[0].table, expected[0]);
            QCOMPARE(decisions[0].comparison.number, expected[1]);
            QVERIFY(decisions[0].text().find("table") != std::string::npos);
        }
    }

    void markedBytesAreNamed()
    {
        RETRO_MADE(model, load("lut-marked-byte/lut-marked-byte.onnx"));
        const double right =
            accuracy(*model, array("lut-marked-byte/held-out.npy"), array("lut-marked-byte/held-out-labels.npy"));
        QVERIFY2(right >= 0.98, qPrintable(QString::number(right)));
    }

    /// The class is read at the last position; the earlier one that it looked at most is where the marked byte stands.
    void theMarkedByteDecides()
    {
        RETRO_MADE(model, load("lut-marked-byte/lut-marked-byte.onnx"));
        const Tensor all = array("lut-marked-byte/held-out.npy");
        const Tensor places = array("lut-marked-byte/held-out-places.npy");
        int found = 0;
        constexpr int kStrings = 40;
        for (std::int64_t i = 0; i < kStrings; ++i) {
            engine::ExplainRequest request;
            request.inputs = {rowsOf<std::int64_t>(all, i, 1)};
            request.composite = "epsilon";
            request.record = request.keepValues = true;
            RETRO_MADE(result, engine::explain(*model, request));
            const auto layers = engine::lutLayersOf(*result);
            QCOMPARE(layers.size(), std::size_t{1});
            const std::vector<engine::LutDecision>& decisions = layers[0].decisions;
            QCOMPARE(decisions.size(), std::size_t{1});
            QVERIFY(decisions[0].pair.has_value());
            QCOMPARE(decisions[0].pair->later, static_cast<std::uint32_t>(all.shape()[1] - 1));
            found += static_cast<double>(decisions[0].pair->earlier) == places.at(i) ? 1 : 0;
        }
        QVERIFY2(found >= kStrings * 9 / 10, qPrintable(QString::number(found)));
    }

    void arrowsAreNamed()
    {
        RETRO_MADE(model, load("lut-skips/lut-skips.onnx"));
        const double right = accuracy(*model, arrows(), array("lut-skips/held-out-labels.npy"));
        QVERIFY2(right >= 0.97, qPrintable(QString::number(right)));
    }

    /// Most of what speaks for the direction lies in the box of the arrow, a sixth of the picture. Every LUT layer says
    /// what decided in it, and where.
    void theArrowDecides()
    {
        RETRO_MADE(model, load("lut-skips/lut-skips.onnx"));
        const Tensor all = arrows();
        const Tensor places = array("lut-skips/held-out-places.npy");
        constexpr std::int64_t kSize = 32;
        constexpr std::int64_t kBox = 13;
        double share = 0;
        constexpr int kArrows = 20;
        for (std::int64_t i = 0; i < kArrows; ++i) {
            engine::ExplainRequest request;
            request.inputs = {rowsOf<float>(all, i, 1)};
            request.composite = model->card->composite;
            request.record = request.keepValues = true;
            RETRO_MADE(result, engine::explain(*model, request));
            QVERIFY(result->counts.promises > 0);
            const auto layers = engine::lutLayersOf(*result);
            QCOMPARE(layers.size(), std::size_t{3});
            QCOMPARE(layers[0].decisions.size(), std::size_t{1});
            QCOMPARE(layers[0].decisions[0].place.size(), std::size_t{2}); // row and column
            QVERIFY(layers[2].decisions[0].place.empty());
            const Tensor& relevance = result->relevance[result->model->graph().inputs()[0].index()];
            double inside = 0;
            double sum = 0;
            for (std::int64_t at = 0; at < relevance.size(); ++at) {
                const double down = static_cast<double>(at / kSize) - places.at(2 * i);
                const double right = static_cast<double>(at % kSize) - places.at(2 * i + 1);
                const double one = std::max(relevance.at(at), 0.0);
                inside += down >= 0 && down < kBox && right >= 0 && right < kBox ? one : 0;
                sum += one;
            }
            share += inside / sum / kArrows;
        }
        QVERIFY2(share >= 0.55, qPrintable(QString::number(share)));
    }

    /// What explain writes beside the relevance of values: where that of a layer went, by table, comparison and pair.
    void mapsAreWritten()
    {
        RETRO_MADE(model, load("lut-marked-byte/lut-marked-byte.onnx"));
        engine::ExplainRequest request;
        request.inputs = {rowsOf<std::int64_t>(array("lut-marked-byte/held-out.npy"), 0, 2)};
        request.composite = "epsilon";
        request.precision = execute::Precision::Double;
        request.record = request.keepValues = true;
        RETRO_MADE(result, engine::explain(*model, request));
        const QTemporaryDir folder;
        const std::filesystem::path at = folder.path().toStdString();
        RETRO_MADE(written, engine::writeExplanation(at, *model, request, *result, {}));
        const auto map = [&](const char* what) {
            auto read = tensor::readNpy(at / "lut" / (std::string("lut1.out.") + what + ".npy"));
            return read.ok() ? *read : Tensor();
        };
        const Tensor tables = map("tables");
        const Tensor comparisons = map("comparisons");
        const Tensor pairs = map("pairs");
        QCOMPARE(tables.shape(), (tensor::Shape{2, 16}));
        QCOMPARE(comparisons.shape(), (tensor::Shape{2, 16, 9}));
        QCOMPARE(pairs.shape(), (tensor::Shape{2, 24, 24}));
        // The relevance of the logits, but for the stabiliser, once by table and once by pair.
        QVERIFY(std::abs(ops::algebra::sum(tables) - ops::algebra::sum(pairs)) < 1e-9);
        QVERIFY(std::abs(ops::algebra::sum(pairs) - result->relevanceStart) < 1e-4);
        QVERIFY(std::abs(ops::algebra::sum(comparisons) - ops::algebra::sum(tables)) < 1e-9);
        for (std::int64_t i = 0; i < pairs.size(); ++i) {
            QVERIFY(i % 24 < i / 24 % 24 || pairs.at(i) == 0); // only earlier positions
        }
    }
};

QTEST_GUILESS_MAIN(LutSampleTest)
#include "lutsampletest.moc"
