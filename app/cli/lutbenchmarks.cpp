// SPDX-License-Identifier: Apache-2.0
#include "app/cli/lutbenchmarks.h"

#include "kernels/lut/run.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <random>

namespace retro::app
{

namespace
{

struct Size
{
    std::uint64_t batch;
    lut::LayerShape shape;
    double goal;
};

constexpr std::array kSizes{Size{4096, {32, 32, 16, 10, 0, 1, false}, 1.0e-3},
                            Size{1024, {32, 256, 16, 10, 0, 1, false}, 1.2e-3},
                            Size{256, {784, 256, 256, 6, 0, 1, false}, 6.0e-3}};

std::vector<float> randomValues(std::size_t count, std::mt19937& random)
{
    std::vector<float> values(count);
    for (float& value : values) {
        value = static_cast<float>(random()) / 2147483648.0F - 1;
    }
    return values;
}

/// A layer with all arrays of its passes.
struct Bench
{
    explicit Bench(const Size& size) : batch(size.batch)
    {
        std::mt19937 random(42);
        const lut::LayerShape& shape = size.shape;
        for (std::uint32_t i = 0; i < shape.tables * shape.comparisons; ++i) {
            const auto a = static_cast<std::uint32_t>(random() % shape.inputs);
            const auto b = static_cast<std::uint32_t>(random() % (shape.inputs - 1));
            anchors.push_back({a, b + (b >= a ? 1U : 0U)});
        }
        weights = randomValues(shape.neurons() * shape.outputs, random);
        input = randomValues(batch * shape.inputs, random);
        gradients = randomValues(batch * shape.outputs, random);
        output.resize(batch * shape.outputs);
        inputGradients.resize(input.size());
        weightGradients.resize(weights.size());
        lut::LayerDescription<float> description;
        description.shape = shape;
        description.anchors = anchors;
        description.weights = weights;
        isGood = lut::Layer<float>::create(description, layer).ok();
        options.threads = 1;
    }

    bool forward(lut::Tape<float>* kept)
    {
        return isGood && lut::forward<float>(*layer, {batch, input, output, kept}, options).ok();
    }
    bool backward()
    {
        return isGood &&
               lut::backward<float>(*layer, {batch, &tape, gradients, inputGradients, weightGradients, {}}, options)
                   .ok();
    }

    std::uint64_t batch;
    std::vector<lut::Anchor> anchors;
    std::vector<float> weights;
    std::vector<float> input;
    std::vector<float> gradients;
    std::vector<float> output;
    std::vector<float> inputGradients;
    std::vector<float> weightGradients;
    std::optional<lut::Layer<float>> layer;
    lut::Tape<float> tape;
    lut::RunOptions<float> options;
    bool isGood = false;
};

} // namespace

std::vector<LutBenchmark> lutBenchmarks()
{
    std::vector<LutBenchmark> all;
    for (const Size& size : kSizes) {
        const auto bench = std::make_shared<Bench>(size);
        const std::string name = fmt::format("b{}_i{}_t{}_c{}_o{}", size.batch, size.shape.inputs, size.shape.tables,
                                             size.shape.comparisons, size.shape.outputs);
        all.push_back({"lut/forward/" + name, size.goal, [bench] { return bench->forward(nullptr); }});
        all.push_back({"lut/forward_taped/" + name, 0, [bench] { return bench->forward(&bench->tape); }});
        all.push_back({"lut/backward/" + name, 0, [bench] {
                           const bool isThere = bench->tape.batch != 0 || bench->forward(&bench->tape);
                           return isThere && bench->backward();
                       }});
    }
    return all;
}

} // namespace retro::app
