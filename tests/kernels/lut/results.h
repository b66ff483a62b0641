// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/callchecks.h"
#include "kernels/lut/cuda.h"
#include "kernels/lut/relevance.h"
#include "tests/kernels/lut/samplelayer.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <initializer_list>

// What both passes over a sample layer give, on one back end or another.
namespace retro::luttest
{

/// Columns and rows of a test over layers: each length with each number of outputs, sparse and full.
inline void addLayerRows(std::initializer_list<int> lengths, std::initializer_list<int> outputCounts)
{
    QTest::addColumn<int>("length");
    QTest::addColumn<int>("outputs");
    QTest::addColumn<bool>("sparse");
    for (const int length : lengths) {
        for (const int outputs : outputCounts) {
            for (const bool sparse : {false, true}) {
                QTest::addRow("S %d O %d %s", length, outputs, sparse ? "sparse" : "full")
                    << length << outputs << sparse;
            }
        }
    }
}

struct Results
{
    lut::Status status;
    std::vector<float> output;
    lut::Tape<float> tape;
    std::vector<float> inputGradients;
    std::vector<float> weightGradients;
    std::vector<float> codeGradients;
};

/// Arrays full of what nobody computed.
inline Results emptyResults(const lut::Layer<float>& layer, std::uint64_t batch)
{
    const lut::LayerShape& shape = layer.shape();
    const std::uint64_t positions = batch * shape.length;
    Results results;
    results.output.assign(positions * shape.outputs, 77);
    results.inputGradients.assign(positions * shape.inputs, 77);
    results.weightGradients.assign(layer.description().weightCount(), 77);
    results.codeGradients.assign(layer.description().codes.size(), 77);
    lut::resizeTape(layer, batch, results.tape);
    return results;
}

/// Of the CPU back end.
inline Results onCpu(const SampleLayer<float>& sample, const lut::Layer<float>& layer, lut::Path path)
{
    Results results = emptyResults(layer, sample.batch);
    lut::RunOptions<float> options;
    options.path = path;
    results.status = lut::forward<float>(layer, {sample.batch, sample.input, results.output, &results.tape}, options);
    if (results.status.ok()) {
        results.status = lut::backward<float>(layer,
                                              {sample.batch, &results.tape, sample.outputGradients,
                                               results.inputGradients, results.weightGradients, results.codeGradients},
                                              options);
    }
    return results;
}

/// Of the CUDA back end.
inline Results onCuda(const SampleLayer<float>& sample, const lut::Layer<float>& layer, lut::Path path)
{
    Results results = emptyResults(layer, sample.batch);
    std::unique_ptr<lut::CudaLayer> device;
    results.status = lut::CudaLayer::create(layer, sample.batch, device, {path, lut::kScratchLimit});
    if (results.status.ok()) {
        results.status = device->forward({sample.batch, sample.input, results.output, &results.tape});
    }
    if (results.status.ok()) {
        results.status = device->backward({sample.batch, &results.tape, sample.outputGradients, results.inputGradients,
                                           results.weightGradients, results.codeGradients});
    }
    return results;
}

/// What sharing relevance gives.
struct Shares
{
    lut::Status status;
    std::vector<float> inputs;
    std::vector<float> codes;
    std::vector<float> tables;
    std::vector<float> bits;
    std::vector<float> pairMap;
    std::vector<float> unplaced;
};

/// Arrays full of what nobody computed.
inline Shares emptyShares(const lut::Layer<float>& layer, std::uint64_t batch)
{
    const lut::LayerShape& shape = layer.shape();
    const std::uint64_t positions = batch * shape.length;
    Shares shares;
    shares.inputs.assign(positions * shape.inputs, 77);
    shares.codes.assign(layer.description().codes.size(), 77);
    shares.tables.assign(batch * shape.tables, 77);
    shares.bits.assign(batch * shape.tables * shape.rowBits(), 77);
    shares.pairMap.assign(positions * shape.length, 77);
    shares.unplaced.assign(batch, 77);
    return shares;
}

/// The call that fills them, after a forward pass.
inline lut::RelevanceCall<float> shareCall(const SampleLayer<float>& sample, const Results& forward,
                                           lut::TableRule rule, Shares& shares)
{
    lut::RelevanceCall<float> call;
    call.batch = sample.batch;
    call.tape = &forward.tape;
    call.input = sample.input;
    call.output = forward.output;
    call.outputRelevance = sample.outputGradients;
    call.epsilon = 0.25F; // outputs near 0 do not make all else small
    call.rule = rule;
    call.inputRelevance = shares.inputs;
    call.codeRelevance = shares.codes;
    call.tableRelevance = shares.tables;
    call.bitRelevance = shares.bits;
    call.pairMap = shares.pairMap;
    call.unplaced = shares.unplaced;
    return call;
}

inline constexpr lut::TableRule kTableRules[] = {lut::TableRule::FlipContrast, lut::TableRule::WeakestBit,
                                                 lut::TableRule::SignedFlip, lut::TableRule::Shapley};

/// Within 1e-5 of the larger of 1 and the second.
inline bool isNear(const std::vector<float>& a, const std::vector<float>& b)
{
    const auto near = [](float x, float y) { return std::abs(x - y) <= 1e-5F * std::max(1.0F, std::abs(y)); };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), near);
}

/// Within a share of the largest of the second: sums of parts that cancel are as exact as the parts.
inline bool isNearTheLargest(const std::vector<float>& a, const std::vector<float>& b, float share = 1e-5F)
{
    float largest = 1e-30F;
    for (const float value : b) {
        largest = std::max(largest, std::abs(value));
    }
    const auto near = [&](float x, float y) { return std::abs(x - y) <= share * largest; };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), near);
}

/// Fails the test where shares differ.
inline void expectNear(const Shares& device, const Shares& cpu)
{
    QVERIFY(isNearTheLargest(device.inputs, cpu.inputs));
    QVERIFY(isNearTheLargest(device.codes, cpu.codes));
    QVERIFY(isNearTheLargest(device.tables, cpu.tables));
    QVERIFY(isNearTheLargest(device.bits, cpu.bits));
    QVERIFY(isNearTheLargest(device.pairMap, cpu.pairMap));
    // What stays with the tables of all pairs, thousands of terms that the CPU adds one after another.
    QVERIFY(isNearTheLargest(device.unplaced, cpu.unplaced, 1e-4F));
}

inline bool areSame(const lut::Array<lut::MainEvent>& a, const lut::Array<lut::MainEvent>& b)
{
    const auto same = [](const lut::MainEvent& x, const lut::MainEvent& y) {
        return x.batch == y.batch && x.count == y.count && x.neuron == y.neuron && x.position == y.position;
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// Fails the test where a device differs from the CPU: rows and outputs in any bit, gradients of inputs and codes
/// beyond 1e-5, or in any bit when they are exact.
inline void expectSame(const Results& device, const Results& cpu, bool isExact)
{
    QVERIFY(device.tape.rows == cpu.tape.rows && device.tape.bits == cpu.tape.bits);
    QVERIFY(device.tape.deltas == cpu.tape.deltas);
    QVERIFY(device.tape.codeRows == cpu.tape.codeRows && device.tape.codeBits == cpu.tape.codeBits);
    QVERIFY(areSame(device.tape.mainEvents, cpu.tape.mainEvents));
    QVERIFY(areSame(device.tape.otherEvents, cpu.tape.otherEvents));
    QVERIFY(device.output == cpu.output);
    QVERIFY(device.weightGradients == cpu.weightGradients);
    QVERIFY(isNear(device.inputGradients, cpu.inputGradients));
    QVERIFY(isNear(device.codeGradients, cpu.codeGradients));
    if (isExact) {
        QVERIFY(device.inputGradients == cpu.inputGradients);
        QVERIFY(device.codeGradients == cpu.codeGradients);
    }
}

/// Relevance on the CPU against the CUDA back end, by every rule.
inline void compareShares(const SampleLayer<float>& sample, const lut::Layer<float>& layer, const Results& forward)
{
    std::unique_ptr<lut::CudaLayer> device;
    QVERIFY(lut::CudaLayer::create(layer, sample.batch, device).ok());
    for (const lut::TableRule rule : kTableRules) {
        Shares cpu = emptyShares(layer, sample.batch);
        QVERIFY(lut::relevance(layer, shareCall(sample, forward, rule, cpu), 1).ok());
        Shares ours = emptyShares(layer, sample.batch);
        const lut::Status status = device->relevance(shareCall(sample, forward, rule, ours));
        QVERIFY2(status.ok(), status.message.c_str());
        expectNear(ours, cpu);
        if (QTest::currentTestFailed()) {
            qInfo("rule %d", static_cast<int>(rule));
            return;
        }
    }
}

} // namespace retro::luttest
