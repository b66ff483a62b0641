// SPDX-License-Identifier: Apache-2.0
#include "app/bench/lutbenchmarks.h"

#include "kernels/lut/cuda.h"
#include "kernels/lut/run.h"
#include "kernels/lut/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
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

/// Of the kernels alone: attention over 32 positions.
constexpr Size kSequence{16, {32, 32, 16, 6, 2, 32, true}, 0};

/// Of the kernels on a device alone: layers that fill it, the last two with tables beyond its caches.
constexpr std::array kLargeSizes{Size{4096, {32, 256, 16, 10, 0, 1, false}, 0},
                                 Size{1024, {784, 1024, 1024, 8, 0, 1, false}, 0},
                                 Size{128, {32, 32, 64, 6, 4, 32, true}, 0}};

std::string nameOf(const Size& size)
{
    const lut::LayerShape& shape = size.shape;
    const std::string length = shape.isSequence ? fmt::format("_s{}_p{}", shape.length, shape.codeBits) : "";
    return fmt::format("b{}{}_i{}_t{}_c{}_o{}", size.batch, length, shape.inputs, shape.tables, shape.comparisons,
                       shape.outputs);
}

std::vector<float> randomValues(std::size_t count, std::mt19937& random)
{
    std::vector<float> values(count);
    for (float& value : values) {
        value = static_cast<float>(random()) / 2147483648.0F - 1;
    }
    return values;
}

/// A layer with all arrays of its passes.
struct LutBench
{
    explicit LutBench(const Size& size) : batch(size.batch)
    {
        std::mt19937 random(42);
        const lut::LayerShape& shape = size.shape;
        for (std::uint32_t i = 0; i < shape.tables * shape.comparisons; ++i) {
            const auto a = static_cast<std::uint32_t>(random() % shape.inputs);
            const auto b = static_cast<std::uint32_t>(random() % (shape.inputs - 1));
            anchors.push_back({a, b + (b >= a ? 1U : 0U)});
        }
        weights = randomValues(shape.neurons() * shape.outputs, random);
        codes = randomValues(std::uint64_t{shape.lags()} * shape.tables * shape.codeBits, random);
        input = randomValues(batch * shape.length * shape.inputs, random);
        gradients = randomValues(batch * shape.length * shape.outputs, random);
        output.resize(gradients.size());
        codeGradients.resize(codes.size());
        inputGradients.resize(input.size());
        weightGradients.resize(weights.size());
        lut::LayerDescription<float> description;
        description.shape = shape;
        description.anchors = anchors;
        description.weights = weights;
        description.codes = codes;
        isGood = lut::Layer<float>::create(description, layer).ok();
        options.threads = 1;
    }

    bool forward(lut::Tape<float>* kept)
    {
        return isGood && lut::forward<float>(*layer, {batch, input, output, kept}, options).ok();
    }
    bool backward() { return isGood && lut::backward<float>(*layer, backwardCall(), options).ok(); }
    lut::BackwardCall<float> backwardCall()
    {
        return {batch, &tape, gradients, inputGradients, weightGradients, codeGradients};
    }

    std::uint64_t batch;
    std::vector<lut::Anchor> anchors;
    std::vector<float> weights;
    std::vector<float> input;
    std::vector<float> gradients;
    std::vector<float> output;
    std::vector<float> inputGradients;
    std::vector<float> weightGradients;
    std::vector<float> codes;
    std::vector<float> codeGradients;
    std::optional<lut::Layer<float>> layer;
    lut::Tape<float> tape;
    lut::RunOptions<float> options;
    bool isGood = false;
};

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Adds a line for each launch of a pass.
void addFigures(const LutBench& bench, const std::string& layer, lut::Pass pass, const std::vector<double>& seconds,
                std::vector<LutKernelFigure>& figures)
{
    lut::Schedule schedule;
    const auto request = lut::requestOf(*bench.layer, bench.batch, lut::Path::Fused, pass);
    if (!lut::makeSchedule(request, schedule).ok() || seconds.size() != schedule.launches.size()) {
        return;
    }
    for (std::size_t i = 0; i < seconds.size(); ++i) {
        const lut::Launch& launch = schedule.launches[i];
        figures.push_back({layer, std::string(lut::nameOf(launch.kernel)),
                           static_cast<double>(lut::bytesMoved(schedule, launch)), seconds[i]});
    }
}

/// Least seconds of each launch of a pass on the CPU.
std::vector<double> launchSeconds(LutBench& bench, lut::Pass pass, int runs)
{
    std::vector<double> least;
    Clock::time_point last;
    bench.options.observer = [&](const lut::LaunchView<float>& view) {
        least.resize(view.schedule.launches.size(), std::numeric_limits<double>::infinity());
        least[view.launch] = std::min(least[view.launch], secondsSince(last));
        last = Clock::now();
    };
    for (int run = 0; run < runs; ++run) {
        last = Clock::now();
        if (!(pass == lut::Pass::Forward ? bench.forward(&bench.tape) : bench.backward())) {
            return {};
        }
    }
    bench.options.observer = nullptr;
    return least;
}

void addOnCpu(const Size& size, int runs, std::vector<LutKernelFigure>& figures)
{
    LutBench bench(size);
    for (const lut::Pass pass : {lut::Pass::Forward, lut::Pass::Backward}) {
        addFigures(bench, nameOf(size), pass, launchSeconds(bench, pass, runs), figures);
    }
}

void addOnDevice(const Size& size, int runs, std::vector<LutKernelFigure>& figures)
{
    LutBench bench(size);
    std::unique_ptr<lut::CudaLayer> device;
    const bool isThere = bench.isGood && lut::CudaLayer::create(*bench.layer, bench.batch, device).ok() &&
                         device->forward({bench.batch, bench.input, bench.output, &bench.tape}).ok() &&
                         device->backward(bench.backwardCall()).ok();
    for (const lut::Pass pass : {lut::Pass::Forward, lut::Pass::Backward}) {
        std::vector<double> seconds;
        if (isThere && device->time(pass, runs, seconds).ok()) {
            addFigures(bench, nameOf(size), pass, seconds, figures);
        }
    }
}

} // namespace

std::vector<LutBenchmark> lutBenchmarks()
{
    std::vector<LutBenchmark> all;
    for (const Size& size : kSizes) {
        const auto bench = std::make_shared<LutBench>(size);
        const std::string name = nameOf(size);
        all.push_back({"lut/forward/" + name, size.goal, [bench] { return bench->forward(nullptr); }});
        all.push_back({"lut/forward_taped/" + name, 0, [bench] { return bench->forward(&bench->tape); }});
        all.push_back({"lut/backward/" + name, 0, [bench] {
                           const bool isThere = bench->tape.batch != 0 || bench->forward(&bench->tape);
                           return isThere && bench->backward();
                       }});
    }
    return all;
}

std::vector<LutKernelFigure> lutKernelsOnCpu(int runs)
{
    std::vector<LutKernelFigure> figures;
    for (const Size& size : kSizes) {
        addOnCpu(size, runs, figures);
    }
    addOnCpu(kSequence, runs, figures);
    return figures;
}

std::vector<LutKernelFigure> lutKernelsOnDevice(int runs)
{
    std::vector<LutKernelFigure> figures;
    if (lut::availability(lut::Backend::Cuda).ok()) {
        for (const Size& size : kSizes) {
            addOnDevice(size, runs, figures);
        }
        addOnDevice(kSequence, runs, figures);
        for (const Size& size : kLargeSizes) {
            addOnDevice(size, runs, figures);
        }
    }
    return figures;
}

double copyRate(int runs)
{
    constexpr std::size_t kBytes = std::size_t{256} << 20;
    const std::vector<char> from(kBytes, 1);
    std::vector<char> to(kBytes);
    double least = std::numeric_limits<double>::infinity();
    for (int run = 0; run < runs; ++run) {
        const Clock::time_point start = Clock::now();
        std::memcpy(to.data(), from.data(), kBytes);
        least = to[static_cast<std::size_t>(run)] == 1 ? std::min(least, secondsSince(start)) : least;
    }
    return 2.0 * static_cast<double>(kBytes) / least;
}

} // namespace retro::app
