// SPDX-License-Identifier: Apache-2.0
// Sparse layers with groups of synapses that have rates of their own.
#include "core/engine/explain/explain.h"
#include "core/engine/explain/runforward.h"
#include "core/formats/onnx.h"
#include "tests/core/engine/luttrainsupport.h"

#include <algorithm>
#include <cmath>

using namespace retro;
using namespace retro::luttrain;
using engine::LutDataSet;
using engine::LutGradients;
using engine::LutNetwork;
using engine::LutTrainOptions;

namespace
{

/// One layer by itself, straight on the kernels.
struct PlainPass
{
    PlainPass(const engine::LutTrainLayer& of, std::span<const float> weights, std::span<const float> x)
        : inputs(x.size())
    {
        lut::LayerDescription<float> given;
        given.shape = of.shape;
        given.anchors = of.anchors;
        given.weights = weights;
        given.isSparse = of.isSparse();
        given.rowStarts = of.rowStarts;
        given.columns = of.columns;
        batch = x.size() / of.shape.inputs;
        output.resize(batch * of.shape.outputs);
        lut::ForwardCall<float> call{batch, x, output, &tape};
        if (!lut::Layer<float>::create(given, layer).ok() || !lut::forward(*layer, call).ok()) {
            qFatal("no layer");
        }
    }

    /// Gradients of the inputs and of the weights.
    [[nodiscard]] std::pair<std::vector<float>, std::vector<float>> backward(std::span<const float> g) const
    {
        std::pair<std::vector<float>, std::vector<float>> result;
        result.first.resize(inputs);
        result.second.resize(layer->description().weights.size());
        lut::BackwardCall<float> call;
        call.batch = batch;
        call.tape = &tape;
        call.outputGradients = g;
        call.inputGradients = result.first;
        call.weightGradients = result.second;
        if (!lut::backward(*layer, call).ok()) {
            qFatal("no gradients");
        }
        return result;
    }

    std::size_t inputs;
    std::uint64_t batch = 0;
    std::optional<lut::Layer<float>> layer;
    std::vector<float> output;
    lut::Tape<float> tape;
};

} // namespace

class LutTrainSparseTest : public QObject
{
    Q_OBJECT

private slots:
    /// A sparse layer that reaches all outputs is the full one: equal weights after training, within rounding.
    void aSparseLayerOfAllSynapsesIsTheFullOne()
    {
        std::vector<LutNetwork> nets;
        for (const bool isSparse : {false, true}) {
            engine::LutLayerPlan first{8, 3, 0, 6, false, false};
            engine::LutLayerPlan second{8, 4, 0, 0, false, false};
            if (isSparse) {
                first.groups = {{1, 1}};
                second.groups = {{0.5F, 1}, {0.5F, 1}};
            }
            nets.push_back(network({first, second}));
            LutTrainOptions options;
            options.update = engine::LutUpdate::Sgd;
            options.rate = 0.2;
            options.epochs = 3;
            options.batch = 9;
            QVERIFY(engine::train(nets.back(), comparisons(100, 1), {}, options).ok());
        }
        for (std::size_t i = 0; i < 2; ++i) {
            const std::vector<float>& full = nets[0].layers()[i].weights;
            const std::vector<float>& sparse = nets[1].layers()[i].weights;
            QCOMPARE(sparse.size(), full.size());
            for (std::size_t k = 0; k < full.size(); ++k) {
                QVERIFY(std::abs(full[k] - sparse[k]) <= 1e-5F);
            }
        }
    }

    /// Gradients beside the definition: each synapse's rate is in its own gradient and in its part of row scores.
    void ratesOfSynapsesAreThoseOfTheirGroups()
    {
        engine::LutLayerPlan second{8, 4, 0, 0, false, false};
        second.groups = {{0.5F, 0.25F}, {0.5F, 0}};
        LutNetwork net = network({{8, 3, 0, 6, false, false}, second});
        engine::LutTrainLayer& last = net.layers()[1];
        QCOMPARE(last.rates.size(), last.weights.size());
        QCOMPARE(std::ranges::count(last.rates, 0.25F), std::ranges::count(last.rates, 0.0F));
        for (std::size_t i = 0; i < last.weights.size(); ++i) {
            last.weights[i] = static_cast<float>(i % 13) / 8;
        }
        const LutDataSet data = comparisons(20, 1);
        const auto x = data.x.span<float>();
        const auto labels = data.labels.span<std::int64_t>();
        const auto gradients = net.run(x, labels, LutGradients::Dense).gradients;

        const PlainPass hidden(net.layers()[0], net.layers()[0].weights, x);
        const PlainPass result(last, last.weights, hidden.output);
        std::vector<float> g(result.output.size());
        for (std::size_t b = 0; b < labels.size(); ++b) {
            const double other = std::exp(static_cast<double>(result.output[2 * b + 1] - result.output[2 * b]));
            const double p = other / (1 + other);
            const double wanted = labels[b] == 1 ? 1 : 0;
            g[2 * b + 1] = static_cast<float>((p - wanted) / 20);
            g[2 * b] = -g[2 * b + 1];
        }
        std::vector<float> scored = last.weights;
        for (std::size_t i = 0; i < scored.size(); ++i) {
            scored[i] *= last.rates[i];
        }
        const auto [down, own] = PlainPass(last, scored, hidden.output).backward(g);
        const auto [ignored, below] = hidden.backward(down);
        QVERIFY(std::ranges::any_of(below, [](float v) { return std::abs(v) > 1e-4F; }));
        for (std::size_t i = 0; i < own.size(); ++i) {
            QVERIFY(std::abs(gradients[1].weights[i] - last.rates[i] * own[i]) <= 1e-6F);
        }
        for (std::size_t i = 0; i < below.size(); ++i) {
            QVERIFY(std::abs(gradients[0].weights[i] - below[i]) <= 1e-6F);
        }
    }

    /// What has the rate 0 stays, under every policy; the policies agree bit for bit.
    void frozenSynapsesStay()
    {
        std::vector<LutNetwork> nets;
        for (const LutGradients gradients : {LutGradients::Dense, LutGradients::Sparse, LutGradients::Internal}) {
            engine::LutLayerPlan first{5, 3, 1, 6, true, true};
            first.groups = {{0.4F, 1}, {0.3F, 0}};
            nets.push_back(network({first, {5, 3, 0, 0, false, false}}, 6, 8, 12));
            const engine::LutTrainLayer before = nets.back().layers()[0];
            LutTrainOptions options;
            options.update = engine::LutUpdate::Sgd;
            options.gradients = gradients;
            options.rate = 0.5;
            options.epochs = 2;
            options.batch = 7;
            QVERIFY(engine::train(nets.back(), letters(60, 1), {}, options).ok());
            const engine::LutTrainLayer& after = nets.back().layers()[0];
            QVERIFY(after.weights != before.weights);
            for (std::size_t i = 0; i < after.weights.size(); ++i) {
                QVERIFY(before.rates[i] != 0 || after.weights[i] == before.weights[i]);
            }
        }
        for (const LutNetwork& other : nets) {
            QVERIFY(bits(nets[0].layers()[0].weights) == bits(other.layers()[0].weights));
        }
    }

    /// The saved model of a sparse network answers as the network.
    void sparseNetworksAreSaved()
    {
        engine::LutLayerPlan sequence{5, 3, 1, 6, true, true};
        engine::LutLayerPlan plain{6, 3, 0, 0, false, false};
        sequence.groups = {{0.5F, 1}};
        plain.groups = {{0.5F, 0.5F}};
        LutNetwork net = network({sequence, plain}, 6, 8, 12);
        const LutDataSet data = letters(30, 1);
        QVERIFY(engine::train(net, data, {}, {}).ok());
        RETRO_MADE(model, engine::parseModel(formats::toOnnx(net.toGraph().value()).value(), "sparse.onnx", {}));
        RETRO_MADE(run, engine::runForward(**model, {data.x}, execute::Precision::Float));
        const std::vector<float> scores = net.scores(net.embedded(data.x.span<std::int64_t>()));
        for (std::size_t i = 0; i < scores.size(); ++i) {
            QVERIFY(std::abs(run->outputs[0].at(static_cast<std::int64_t>(i)) - static_cast<double>(scores[i])) < 1e-5);
        }
    }
};

QTEST_GUILESS_MAIN(LutTrainSparseTest)
#include "luttrainsparsetest.moc"
