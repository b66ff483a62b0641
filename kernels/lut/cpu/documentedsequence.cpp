// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/cpu/documented.h"
#include "kernels/lut/cpu/fused.h"
#include "kernels/lut/cpu/parallel.h"

#include <cmath>

namespace retro::lut::cpu
{

namespace
{

/// Calls f(pair) for all pairs of a sequence, tile by tile, as the blocks of a launch do.
template <class F>
void forEachTilePair(std::uint64_t length, const F& f)
{
    for (std::uint64_t block = 0; block < tileBlocks(length); ++block) {
        if (!isTileUsed(block, length)) {
            continue;
        }
        for (std::uint32_t thread = 0; thread < kTilePairs; ++thread) {
            PositionPair pair;
            if (tilePair(block, thread, length, pair)) {
                f(pair);
            }
        }
    }
}

/// Events of one sample.
struct SampleEvents
{
    std::vector<MainEvent> main;
    std::vector<AlternativeEvent> other;
};

/// Turns the cells of (sample, position) into events and clears them.
template <class T>
void takeCells(Documented<T>& run, std::uint64_t sample, std::uint64_t position, SampleEvents& events)
{
    const std::uint64_t neurons = run.shape().neurons();
    T* cells = run.dense.data() + run.site(sample, position, 0) * run.shape().rows();
    for (std::uint64_t n = 0; n < neurons; ++n) {
        const T count = cells[n];
        if (count == T(0)) {
            continue;
        }
        const MainEvent event{static_cast<std::uint32_t>(sample),
                              count >= T(1) ? static_cast<float>(std::floor(count)) : 1.0F,
                              static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(position)};
        (count >= T(1) ? events.main : events.other).push_back(event);
        cells[n] = 0;
    }
}

/// Where a row's numbers lie, and where each goes: dense rows go to all outputs in their order.
template <class T>
IndexRange weightsOf(const Layer<T>& layer, std::uint64_t neuron)
{
    if (layer.isSparse()) {
        return {layer.description().rowStarts[neuron], layer.description().rowStarts[neuron + 1]};
    }
    return {neuron * layer.shape().outputs, (neuron + 1) * layer.shape().outputs};
}

template <class T>
std::uint64_t outputOf(const Layer<T>& layer, IndexRange row, std::uint64_t place)
{
    return layer.isSparse() ? layer.description().columns[place] : place - row.begin;
}

/// Calls f(first weight, end) for each group of up to G_f weights of a row.
template <class T, class F>
void forEachGroup(const Layer<T>& layer, IndexRange row, const F& f)
{
    const std::uint64_t size = layer.description().forwardGroup;
    const std::uint64_t count = row.end - row.begin;
    for (std::uint64_t group = 0; group < ceilDivide(count, size); ++group) {
        const IndexRange part = groupRange(group, count, size);
        f(row.begin + part.begin, row.begin + part.end);
    }
}

/// Score of an event's row with the gradient of its position.
template <class T>
T scoreOf(const Documented<T>& run, const MainEvent& event)
{
    const IndexRange row = weightsOf(run.layer, event.neuron);
    const T* g = run.outputGradients.data() +
                 (std::uint64_t{event.batch} * run.shape().length + event.position) * run.shape().outputs;
    T score = 0;
    forEachGroup(run.layer, row, [&](std::uint64_t first, std::uint64_t end) {
        double sum = 0;
        for (std::uint64_t w = first; w < end; ++w) {
            sum += static_cast<double>(run.layer.description().weights[w]) * g[outputOf(run.layer, row, w)];
        }
        score += magnitude(sum) > kNegligible ? static_cast<T>(sum) : T(0);
    });
    return score;
}

template <class T>
T& cellOfEvent(Documented<T>& run, const MainEvent& event)
{
    return run.dense[run.site(event.batch, event.position, 0) * run.shape().rows() + event.neuron];
}

const Array<MainEvent>& eventsOf(const auto& tape, Variant variant)
{
    return variant == Variant::Main ? tape.mainEvents : tape.otherEvents;
}

/// What a pair sends back, per unit of slope: to the weaker of its positions, and to the code of its distance.
template <class T>
struct PairScores
{
    PairChoice<T> choice;
    T position = 0;
    T code = 0;
};

template <class T>
PairScores<T> scoresOf(Documented<T>& run, std::uint64_t sample, PositionPair pair, std::uint64_t table)
{
    const std::uint32_t row = pairRowAt(run.layer, *run.tape, sample, pair, table);
    const T main = run.cell(sample, pair.later, table, row);
    const PairChoice<T> choice = pairChoiceAt(run.layer, *run.tape, sample, pair, table);
    return {choice, main - run.cell(sample, pair.later, table, flipped(row, choice.bit)),
            main - run.cell(sample, pair.later, table, flipped(row, choice.codeBit))};
}

template <class T>
void propagatePair(Documented<T>& run, std::uint64_t sample, PositionPair pair, std::uint64_t table)
{
    const PairScores<T> scores = scoresOf(run, sample, pair, table);
    if (scores.choice.bit < 0) {
        return;
    }
    const std::uint64_t position = scores.choice.isQuery ? pair.later : pair.earlier;
    const Weakest<T> weakest = weakestAt(*run.tape, run.site(sample, position, table));
    const T v = scores.position * slope(weakest.delta);
    if (magnitude(v) > static_cast<T>(kNegligible)) {
        sendToAnchors(run.layer.anchorsOf(table)[weakest.bit], v,
                      run.inputGradients.data() + (sample * run.shape().length + position) * run.shape().inputs);
    }
}

template <class T>
void propagateCode(Documented<T>& run, std::uint64_t sample, PositionPair pair, std::uint64_t table)
{
    const PairScores<T> scores = scoresOf(run, sample, pair, table);
    if (scores.choice.codeBit < 0) {
        return;
    }
    const std::uint64_t place = std::uint64_t{pair.later - pair.earlier - 1} * run.shape().tables + table;
    const T v = scores.code * slope(run.tape->codeDeltas[place]);
    if (magnitude(v) > static_cast<T>(kNegligible)) {
        run.codeGradients[place * run.shape().codeBits + static_cast<std::uint64_t>(scores.choice.codeBit)] += v;
    }
}

} // namespace

template <class T>
void fillAfterDetectorsFiringStat(Documented<T>& run)
{
    parallelItems(run.batch * run.shape().tables, run.threads, [&](std::uint64_t item) {
        const std::uint64_t sample = item / run.shape().tables;
        const std::uint64_t table = item % run.shape().tables;
        forEachTilePair(run.shape().length, [&](PositionPair pair) {
            const std::uint32_t row = pairRowAt(run.layer, *run.tape, sample, pair, table);
            const PairChoice<T> choice = pairChoiceAt(run.layer, *run.tape, sample, pair, table);
            run.cell(sample, pair.later, table, row) += T(1);
            if (choice.bit >= 0) {
                run.cell(sample, pair.later, table, flipped(row, choice.bit)) += static_cast<T>(kTouched);
            }
            if (choice.codeBit >= 0) {
                run.cell(sample, pair.later, table, flipped(row, choice.codeBit)) += static_cast<T>(kTouched);
            }
        });
    });
}

template <class T>
void densifyFiringStat(Documented<T>& run)
{
    std::vector<SampleEvents> samples(run.batch);
    parallelItems(run.batch, run.threads, [&](std::uint64_t sample) {
        for (std::uint64_t position = 0; position < run.shape().length; ++position) {
            takeCells(run, sample, position, samples[sample]);
        }
    });
    run.kept->mainEvents.clear();
    run.kept->otherEvents.clear();
    for (const SampleEvents& events : samples) {
        run.kept->mainEvents.insert(run.kept->mainEvents.end(), events.main.begin(), events.main.end());
        run.kept->otherEvents.insert(run.kept->otherEvents.end(), events.other.begin(), events.other.end());
    }
    run.kept->hasEvents = true;
}

template <class T>
void fillOutputsBySparseFirings(Documented<T>& run)
{
    for (const MainEvent& event : run.tape->mainEvents) {
        const IndexRange row = weightsOf(run.layer, event.neuron);
        T* output = run.output.data() +
                    (std::uint64_t{event.batch} * run.shape().length + event.position) * run.shape().outputs;
        for (std::uint64_t w = row.begin; w < row.end; ++w) {
            output[outputOf(run.layer, row, w)] += static_cast<T>(event.count) * run.layer.description().weights[w];
        }
    }
}

template <class T>
void gatherXGradientsForSequence(Documented<T>& run, Variant variant)
{
    const Array<MainEvent>& events = eventsOf(*run.tape, variant);
    constexpr std::uint64_t kTogether = 256;
    parallelItems(ceilDivide(events.size(), kTogether), run.threads, [&](std::uint64_t item) {
        const IndexRange range = groupRange(item, events.size(), kTogether);
        for (std::uint64_t e = range.begin; e < range.end; ++e) {
            cellOfEvent(run, events[e]) = scoreOf(run, events[e]);
        }
    });
}

template <class T>
void gatherWGradientsForSequence(Documented<T>& run)
{
    for (const MainEvent& event : run.tape->mainEvents) {
        const IndexRange row = weightsOf(run.layer, event.neuron);
        const T* g = run.outputGradients.data() +
                     (std::uint64_t{event.batch} * run.shape().length + event.position) * run.shape().outputs;
        for (std::uint64_t w = row.begin; w < row.end; ++w) {
            run.weightGradients[w] += static_cast<T>(event.count) * g[outputOf(run.layer, row, w)];
        }
    }
}

template <class T>
void propagateThroughDetectorsForSequence(Documented<T>& run)
{
    const LayerShape& shape = run.shape();
    parallelItems(run.batch, run.threads, [&](std::uint64_t sample) {
        for (std::uint64_t t = 0; t < shape.tables; ++t) {
            forEachTilePair(shape.length, [&](PositionPair pair) { propagatePair(run, sample, pair, t); });
        }
    });
    if (shape.codeBits == 0) {
        return;
    }
    parallelItems(shape.tables, run.threads, [&](std::uint64_t t) {
        for (std::uint64_t sample = 0; sample < run.batch; ++sample) {
            forEachTilePair(shape.length, [&](PositionPair pair) { propagateCode(run, sample, pair, t); });
        }
    });
}

template <class T>
void cleanup(Documented<T>& run, Variant variant)
{
    for (const MainEvent& event : eventsOf(*run.tape, variant)) {
        cellOfEvent(run, event) = 0;
    }
}

template <class T>
void launchDocumented(Documented<T>& run, const Launch& launch)
{
    switch (launch.kernel) {
    case KernelId::CheckDetectors:
    case KernelId::CheckDetectorsForSequence:
        return checkDetectors(run);
    case KernelId::FillOutputsFullyConnected:
        return fillOutputsFullyConnected(run);
    case KernelId::FireDetectors:
        return fireDetectors(run);
    case KernelId::FillOutputsByForwardGroups:
        return fillOutputsByForwardGroups(run);
    case KernelId::GatherXGradientsFullyConnected:
        return gatherXGradientsFullyConnected(run, launch.variant);
    case KernelId::GatherWGradientsFullyConnected:
        return gatherWGradientsFullyConnected(run);
    case KernelId::PropagateThroughDetectors:
        return propagateThroughDetectors(run);
    case KernelId::FireDetectorsByLookupIndices:
        return fireDetectorsByLookupIndices(run);
    case KernelId::GatherGradients:
        return gatherGradients(run);
    case KernelId::CheckPositionalEmbeddings:
        return checkPositionalEmbeddings(run.layer, *run.kept);
    case KernelId::FillAfterDetectorsFiringStat:
        return fillAfterDetectorsFiringStat(run);
    case KernelId::DensifyFiringStat:
        return densifyFiringStat(run);
    case KernelId::FillOutputsBySparseFirings:
        return fillOutputsBySparseFirings(run);
    case KernelId::GatherXGradientsForSequence:
        return gatherXGradientsForSequence(run, launch.variant);
    case KernelId::GatherWGradientsForSequence:
        return gatherWGradientsForSequence(run);
    case KernelId::PropagateThroughDetectorsForSequence:
        return propagateThroughDetectorsForSequence(run);
    case KernelId::Cleanup:
        return cleanup(run, launch.variant);
    default:
        return;
    }
}

template void launchDocumented(Documented<float>&, const Launch&);
template void launchDocumented(Documented<double>&, const Launch&);

} // namespace retro::lut::cpu
