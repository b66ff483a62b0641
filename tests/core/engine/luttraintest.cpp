// SPDX-License-Identifier: Apache-2.0
// Training of LUT networks: exact gradients of weights, what is learned, the saved model, and what is refused.
#include "core/engine/explain/explain.h"
#include "core/engine/explain/runforward.h"
#include "core/formats/onnx.h"
#include "tests/core/engine/luttrainsupport.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace retro;
using namespace retro::luttrain;
using engine::LutDataSet;
using engine::LutGradients;
using engine::LutNetwork;
using engine::LutNetworkPlan;
using engine::LutTrainOptions;
using tensor::Tensor;

namespace
{

std::string refusal(const LutNetworkPlan& plan)
{
    const auto made = LutNetwork::create(plan);
    return made.ok() ? std::string("made") : made.error().text();
}

} // namespace

class LutTrainTest : public QObject
{
    Q_OBJECT

private slots:
    /// Rows are chosen by inputs alone in a network of one layer, so its loss is smooth in the weights.
    void gradientsOfWeightsAreSlopes()
    {
        LutNetwork net = network({{3, 2, 0, 0, false, false}});
        std::vector<float>& weights = net.layers()[0].weights;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            weights[i] = static_cast<float>(std::sin(static_cast<double>(i)));
        }
        const LutDataSet data = comparisons(20, 1);
        const auto gradient =
            net.run(data.x.span<float>(), data.labels.span<std::int64_t>(), LutGradients::Dense).gradients[0].weights;
        double largest = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const float before = weights[i];
            constexpr float kStep = 1e-2F;
            weights[i] = before + kStep;
            const double ahead =
                net.run(data.x.span<float>(), data.labels.span<std::int64_t>(), LutGradients::None).loss;
            weights[i] = before - kStep;
            const double behind =
                net.run(data.x.span<float>(), data.labels.span<std::int64_t>(), LutGradients::None).loss;
            weights[i] = before;
            const double slope = (ahead - behind) / (2 * static_cast<double>(kStep));
            QVERIFY(std::abs(slope - static_cast<double>(gradient[i])) < 1e-4);
            largest = std::max(largest, std::abs(slope));
        }
        QVERIFY(largest > 1e-2);
    }

    void oneLayerLearns_data()
    {
        QTest::addColumn<int>("update");
        QTest::addColumn<bool>("normalised");
        QTest::addColumn<double>("rate");
        QTest::newRow("adam") << static_cast<int>(engine::LutUpdate::Adam) << false << 0.05;
        QTest::newRow("sgd") << static_cast<int>(engine::LutUpdate::Sgd) << false << 2.0;
        QTest::newRow("sgd, normalised") << static_cast<int>(engine::LutUpdate::Sgd) << true << 0.1;
    }

    void oneLayerLearns()
    {
        QFETCH(int, update);
        QFETCH(bool, normalised);
        QFETCH(double, rate);
        LutNetwork net = network({{16, 4, 0, 0, false, false}});
        LutTrainOptions options;
        options.update = static_cast<engine::LutUpdate>(update);
        options.isNormalised = normalised;
        options.rate = rate;
        options.epochs = 8;
        std::vector<engine::LutTrainProgress> progress;
        RETRO_MADE(done, engine::train(net, comparisons(600, 1), comparisons(200, 2), options, {},
                                       [&](const engine::LutTrainProgress& now) { progress.push_back(now); }));
        QCOMPARE(progress.size(), options.epochs);
        QVERIFY(progress.back().loss < progress.front().loss);
        QVERIFY2(progress.back().testRight > 0.95, qPrintable(QString::number(progress.back().testRight)));
        QVERIFY(progress.back().testRight == engine::accuracyOf(net, comparisons(200, 2)));
    }

    /// The first of two layers learns through the surrogate gradient alone.
    void twoLayersLearn()
    {
        LutNetwork net = network({{16, 3, 0, 6, false, false}, {16, 4, 0, 0, false, false}});
        const std::vector<float> before = net.layers()[0].weights;
        LutTrainOptions options;
        options.epochs = 12;
        options.rate = 0.03;
        QVERIFY(engine::train(net, comparisons(600, 1), {}, options).ok());
        QVERIFY(net.layers()[0].weights != before);
        QVERIFY(engine::accuracyOf(net, comparisons(200, 2)) > 0.9);
    }

    void aSequenceIsLearned()
    {
        LutNetwork net = network({{12, 4, 1, 0, true, false}}, 12, 8, 12);
        LutTrainOptions options;
        options.epochs = 6;
        options.rate = 0.05;
        const std::vector<float> codes = net.layers()[0].codes;
        QVERIFY(engine::train(net, letters(400, 1), letters(100, 2), options).ok());
        QVERIFY(engine::accuracyOf(net, letters(100, 3)) > 0.95);
        QVERIFY(net.layers()[0].codes != codes);
    }

    void threadsChangeNothing()
    {
        std::vector<std::vector<float>> results;
        for (const int threads : {1, 3}) {
            LutNetwork net = network({{8, 3, 0, 6, false, false}, {8, 3, 0, 0, false, false}});
            LutTrainOptions options;
            options.epochs = 2;
            options.threads = threads;
            QVERIFY(engine::train(net, comparisons(100, 1), {}, options).ok());
            results.push_back(net.layers()[0].weights);
            results.back().insert(results.back().end(), net.layers()[1].weights.begin(), net.layers()[1].weights.end());
        }
        QVERIFY(results[0] == results[1]);
    }

    /// Weights and codes after steps along sparse or internal gradients have the bits of those along dense ones.
    void gradientsTrainAlike_data()
    {
        QTest::addColumn<bool>("text");
        QTest::addColumn<bool>("normalised");
        QTest::newRow("two layers") << false << false;
        QTest::newRow("two layers, normalised") << false << true;
        QTest::newRow("sequence") << true << false;
        QTest::newRow("sequence, normalised") << true << true;
    }

    void gradientsTrainAlike()
    {
        QFETCH(bool, text);
        QFETCH(bool, normalised);
        const LutDataSet data = text ? letters(60, 1) : comparisons(60, 1);
        std::vector<LutNetwork> nets;
        for (const LutGradients gradients : {LutGradients::Dense, LutGradients::Sparse, LutGradients::Internal}) {
            if (normalised && gradients == LutGradients::Internal) {
                continue; // refused: nobody knows the largest before all are there
            }
            nets.push_back(text ? network({{5, 3, 1, 6, true, true}, {5, 3, 0, 0, false, false}}, 6, 8, 12)
                                : network({{8, 3, 0, 6, false, false}, {8, 4, 0, 0, false, false}}));
            const std::vector<float> before = nets.back().layers()[0].weights;
            LutTrainOptions options;
            options.update = engine::LutUpdate::Sgd;
            options.gradients = gradients;
            options.isNormalised = normalised;
            options.rate = 0.2;
            options.epochs = 4;
            options.batch = 7;
            RETRO_MADE(done, engine::train(nets.back(), data, {}, options));
            QVERIFY(nets.back().layers()[0].weights != before);
        }
        for (std::size_t i = 0; i < 2; ++i) {
            for (const LutNetwork& other : nets) {
                QVERIFY(bits(nets[0].layers()[i].weights) == bits(other.layers()[i].weights));
                QVERIFY(bits(nets[0].layers()[i].codes) == bits(other.layers()[i].codes));
            }
        }
    }

    void sparseGradientsAreThoseThatAreNotZero()
    {
        LutNetwork net = network({{8, 5, 0, 6, false, false}, {8, 4, 0, 0, false, false}});
        for (std::size_t i = 0; i < net.layers()[1].weights.size(); ++i) {
            net.layers()[1].weights[i] = static_cast<float>(i % 13) / 8;
        }
        const LutDataSet data = comparisons(5, 1);
        const auto x = data.x.span<float>();
        const auto y = data.labels.span<std::int64_t>();
        const auto dense = net.run(x, y, LutGradients::Dense).gradients;
        const auto sparse = net.run(x, y, LutGradients::Sparse).gradients;
        QVERIFY(net.run(x, y, LutGradients::None).gradients.empty());
        for (std::size_t i = 0; i < 2; ++i) {
            const auto& part = sparse[i].sparseWeights;
            QVERIFY(sparse[i].weights.empty() && dense[i].sparseWeights.indices.empty());
            QVERIFY(!part.indices.empty() && part.indices.size() < dense[i].weights.size());
            std::vector<float> all(dense[i].weights.size());
            for (std::size_t k = 0; k < part.indices.size(); ++k) {
                all[part.indices[k]] = part.values[k];
            }
            QVERIFY(bits(all) == bits(dense[i].weights));
        }
    }

    /// A batch that takes the memory of others, of any kind, has the gradients of one that takes none.
    void resultsAreUsedAgain()
    {
        LutNetwork net = network({{8, 5, 0, 6, false, false}, {8, 4, 0, 0, false, false}});
        engine::LutBatchResult again;
        unsigned seed = 1;
        for (const LutGradients wanted :
             {LutGradients::Dense, LutGradients::Sparse, LutGradients::Sparse, LutGradients::Dense, LutGradients::None,
              LutGradients::Dense, LutGradients::Dense}) {
            const LutDataSet data = comparisons(5, seed++);
            const auto x = data.x.span<float>();
            const auto y = data.labels.span<std::int64_t>();
            const auto fresh = net.run(x, y, wanted);
            net.run(x, y, wanted, 0, again);
            QCOMPARE(again.loss, fresh.loss);
            QCOMPARE(again.right, fresh.right);
            QCOMPARE(again.gradients.size(), fresh.gradients.size());
            for (std::size_t i = 0; i < fresh.gradients.size(); ++i) {
                QVERIFY(bits(again.gradients[i].weights) == bits(fresh.gradients[i].weights));
                QVERIFY(again.gradients[i].sparseWeights.indices == fresh.gradients[i].sparseWeights.indices);
                QVERIFY(bits(again.gradients[i].sparseWeights.values) == bits(fresh.gradients[i].sparseWeights.values));
            }
            QVERIFY(std::ranges::all_of(again.scratch, [](float v) { return v == 0; }));
        }
    }

    /// The factor of a layer is in its own gradients and in all that lies before it; powers of two are exact.
    void rateFactorsScaleGradients()
    {
        const auto gradients = [](float first, float second) {
            LutNetwork net = network({{5, 3, 1, 6, true, true, first}, {5, 3, 0, 0, false, false, second}}, 6, 8, 12);
            for (std::size_t i = 0; i < net.layers()[1].weights.size(); ++i) {
                net.layers()[1].weights[i] = static_cast<float>(i % 13) / 8;
            }
            const LutDataSet data = letters(20, 4);
            return net
                .run(net.embedded(data.x.span<std::int64_t>()), data.labels.span<std::int64_t>(), LutGradients::Dense)
                .gradients;
        };
        const auto times = [](std::vector<float> values, float factor) {
            for (float& value : values) {
                value *= factor;
            }
            return values;
        };
        const auto isZero = [](const std::vector<float>& values) {
            return std::ranges::all_of(values, [](float v) { return v == 0; });
        };
        const auto plain = gradients(1, 1);
        QVERIFY(!isZero(plain[0].weights) && !isZero(plain[0].codes) && !isZero(plain[1].weights));
        const auto last = gradients(1, 0.25F);
        QVERIFY(last[1].weights == times(plain[1].weights, 0.25F));
        QVERIFY(last[0].weights == times(plain[0].weights, 0.25F));
        QVERIFY(last[0].codes == times(plain[0].codes, 0.25F));
        const auto first = gradients(0.5F, 1);
        QVERIFY(first[1].weights == plain[1].weights);
        QVERIFY(first[0].weights == times(plain[0].weights, 0.5F));
        QVERIFY(first[0].codes == times(plain[0].codes, 0.5F));
        const auto frozen = gradients(0, 1);
        QVERIFY(isZero(frozen[0].weights) && isZero(frozen[0].codes));
        QVERIFY(frozen[1].weights == plain[1].weights);
    }

    /// A residual layer hands the gradient of its result on beside its own: that part has no factor.
    void aFrozenResidualLayerLetsGradientsThrough()
    {
        const auto firstWeights = [](float factor, bool isResidual) {
            LutNetwork net = network(
                {{8, 3, 0, 6, false, false}, {8, 3, 0, 6, false, isResidual, factor}, {8, 3, 0, 0, false, false}});
            for (std::size_t i = 0; i < net.layers()[2].weights.size(); ++i) {
                net.layers()[2].weights[i] = static_cast<float>(i % 13) / 8;
            }
            const LutDataSet data = comparisons(20, 1);
            return net.run(data.x.span<float>(), data.labels.span<std::int64_t>(), LutGradients::Dense)
                .gradients[0]
                .weights;
        };
        const auto isZero = [](const std::vector<float>& values) {
            return std::ranges::all_of(values, [](float v) { return v == 0; });
        };
        QVERIFY(!isZero(firstWeights(0, true)));
        QVERIFY(firstWeights(0, true) != firstWeights(1, true));
        QVERIFY(isZero(firstWeights(0, false)));
        QVERIFY(!isZero(firstWeights(1, false)));
    }

    /// The saved model gives the scores of the network, in the bits of the kernels.
    void theModelIsTheNetwork()
    {
        LutNetwork text = network({{5, 3, 1, 6, true, true}, {5, 3, 0, 0, false, false}}, 6, 8, 12);
        for (std::size_t i = 0; i < text.layers()[1].weights.size(); ++i) {
            text.layers()[1].weights[i] = static_cast<float>(i % 13) / 8;
        }
        const LutDataSet data = letters(3, 4);
        RETRO_MADE(graph, text.toGraph());
        RETRO_MADE(model, engine::parseModel(formats::toOnnx(*graph).value(), "text.onnx", {}));
        RETRO_MADE(run, engine::runForward(**model, {data.x}, execute::Precision::Float));
        const std::vector<float> scores = text.scores(text.embedded(data.x.span<std::int64_t>()));
        QVERIFY(run->outputs[0].bitEqual(Tensor::of<float>({3, 2}, scores)));

        LutNetwork plain = network({{8, 3, 0, 0, false, false}});
        plain.layers()[0].weights.assign(plain.layers()[0].weights.size(), 0.5F);
        RETRO_MADE(small, engine::parseModel(formats::toOnnx(plain.toGraph().value()).value(), "plain.onnx", {}));
        RETRO_MADE(out, engine::runForward(**small, {comparisons(2, 1).x}, execute::Precision::Float));
        QCOMPARE(out->outputs[0].at(0), 4.0);
    }

    void refusals()
    {
        LutNetworkPlan plan;
        plan.inputs = 4;
        plan.classes = 2;
        QVERIFY(refusal(plan).find("at least one layer") != std::string::npos);
        plan.layers = {{4, 7, 0, 0, false, false}};
        QVERIFY(refusal(plan).find("there are only 6 pairs") != std::string::npos);
        plan.layers = {{4, 3, 0, 5, false, true}};
        QVERIFY(refusal(plan).find("as many outputs as inputs") != std::string::npos);
        plan.layers = {{4, 3, 0, 5, false, false}};
        QVERIFY(refusal(plan).find("there are 2 classes") != std::string::npos);
        plan.layers = {{4, 3, 0, 0, true, false}};
        QVERIFY(refusal(plan).find("sequence length S is 1") != std::string::npos);
        plan.layers = {{0, 3, 0, 0, false, false}};
        QVERIFY(refusal(plan).find("number of detectors T is 0") != std::string::npos);
        for (const float factor : {1.5F, -0.5F, std::numeric_limits<float>::quiet_NaN()}) {
            plan.layers = {{4, 3, 0, 0, false, false, factor}};
            QVERIFY(refusal(plan).find("it must be 0 to 1") != std::string::npos);
        }
        plan.layers = {{4, 3, 0, 5, false, false}, {4, 3, 0, 0, false, false}};
        for (const engine::LutSynapseGroup& group :
             {engine::LutSynapseGroup{0, 1}, {1.5F, 1}, {0.5F, 2}, {std::numeric_limits<float>::quiet_NaN(), 1}}) {
            plan.layers[0].groups = {group};
            QVERIFY(refusal(plan).find("a share is above 0, to 1, a rate 0 to 1") != std::string::npos);
        }
        plan.layers[0].groups = {{0.8F, 1}, {0.4F, 1}};
        QVERIFY(refusal(plan).find("reach 6 outputs from each row, and there are 5") != std::string::npos);
        plan.inputs = 100'000;
        plan.layers = {{65'536, 16, 0, 0, false, false}};
        QVERIFY(refusal(plan).find("take fewer comparisons") != std::string::npos);
    }

    void dataThatDoesNotFitIsRefused()
    {
        LutNetwork net = network({{4, 3, 0, 0, false, false}});
        LutDataSet data = comparisons(5, 1);
        data.labels = Tensor::of<std::int64_t>({5}, std::vector<std::int64_t>{0, 1, 2, 0, 1});
        const auto label = engine::train(net, data, {}, {});
        QVERIFY(!label.ok() && label.error().text().find("y has 2") != std::string::npos);
        data.labels = Tensor::of<std::int64_t>({4}, std::vector<std::int64_t>{0, 1, 0, 1});
        QVERIFY(!engine::train(net, data, {}, {}).ok());
        LutTrainOptions options;
        options.batch = 0;
        QVERIFY(!engine::train(net, comparisons(5, 1), {}, options).ok());
        options = {};
        options.gradients = LutGradients::Sparse;
        const auto moments = engine::train(net, comparisons(5, 1), {}, options);
        QVERIFY(!moments.ok() && moments.error().code == base::ErrorCode::Usage);
        QVERIFY(moments.error().text().find("a sparse gradient goes with sgd") != std::string::npos);
        options.gradients = LutGradients::Internal;
        const auto inPlace = engine::train(net, comparisons(5, 1), {}, options);
        QVERIFY(!inPlace.ok() && inPlace.error().code == base::ErrorCode::Usage);
        options.update = engine::LutUpdate::Sgd;
        options.isNormalised = true;
        QVERIFY(!engine::train(net, comparisons(5, 1), {}, options).ok());
        options.gradients = LutGradients::None;
        QVERIFY(!engine::train(net, comparisons(5, 1), {}, options).ok());
        options = {};
        options.rate = 3e38;
        options.isNormalised = true;
        options.update = engine::LutUpdate::Sgd;
        const auto wild = engine::train(net, comparisons(200, 1), {}, options);
        QVERIFY(!wild.ok() && wild.error().code == base::ErrorCode::Engine);
        std::stop_source stop;
        stop.request_stop();
        const auto stopped = engine::train(net, comparisons(5, 1), {}, {}, stop.get_token());
        QVERIFY(!stopped.ok() && stopped.error().code == base::ErrorCode::Cancelled);
    }
};

QTEST_GUILESS_MAIN(LutTrainTest)
#include "luttraintest.moc"
