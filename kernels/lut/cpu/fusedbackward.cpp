// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/cpu/fused.h"
#include "kernels/lut/cpu/parallel.h"
#include "kernels/lut/cpu/rows.h"
#include "kernels/lut/cpu/segments.h"

namespace retro::lut::cpu
{

namespace
{

/// Samples that a thread takes at once.
constexpr std::uint64_t kSamplesPerItem = 32;
/// Items that are sorted together; more are sorted in several goes, whose sums are added in order.
constexpr std::uint64_t kSortedTogether = 1U << 20;

/// What one position's pairs with all earlier ones ask for: scores of rows against those of their other rows.
struct PairList
{
    std::vector<std::uint64_t> main;
    std::vector<std::uint64_t> other;
    std::vector<std::uint64_t> target; ///< position, or distance, that gets the difference

    void clear()
    {
        main.clear();
        other.clear();
        target.clear();
    }
    void add(std::uint64_t mainId, std::uint64_t otherId, std::uint64_t to)
    {
        main.push_back(mainId);
        other.push_back(otherId);
        target.push_back(to);
    }
};

/// Works out the differences of a list and adds each to its target.
template <class T>
void addScores(const Rows<T>& rows, const PairList& list, const T* g, std::vector<T>& scores, std::vector<T>& sums)
{
    scores.resize(list.main.size());
    rows.scores(list.main.data(), list.other.data(), list.main.size(), g, scores.data());
    for (std::size_t k = 0; k < scores.size(); ++k) {
        sums[list.target[k]] += scores[k];
    }
}

/// Sends back what one sample's tables say.
template <class T>
void propagateSample(const Layer<T>& layer, const Tape<T>& tape, std::uint64_t sample, const std::vector<T>& scores,
                     T* gradients)
{
    const LayerShape& shape = layer.shape();
    std::fill(gradients, gradients + shape.inputs, T(0));
    for (std::uint64_t t = 0; t < shape.tables; ++t) {
        const Weakest<T> weakest = weakestAt(tape, sample * shape.tables + t);
        if (weakest.bit >= 0) {
            sendToAnchors(layer.anchorsOf(t)[weakest.bit], scores[t] * slope(weakest.delta), gradients);
        }
    }
}

/// Zeroes the gradients of one table.
template <class T>
void clearTable(const Layer<T>& layer, std::uint64_t table, std::span<T> gradients)
{
    const LayerShape& shape = layer.shape();
    const auto placeOf = [&](std::uint64_t t) {
        const std::uint64_t neuron = neuronOf(t, 0, shape.rows());
        return layer.isSparse() ? layer.description().rowStarts[neuron] : neuron * shape.outputs;
    };
    std::fill(gradients.begin() + static_cast<std::ptrdiff_t>(placeOf(table)),
              gradients.begin() + static_cast<std::ptrdiff_t>(placeOf(table + 1)), T(0));
}

/// Carries the gradient of every row that was listed to f(place of a weight, gradient).
template <class T, class F>
void forSegments(const FusedBackward<T>& run, std::uint64_t table, Segments& segments, std::vector<T>& sum, const F& f)
{
    const LayerShape& shape = run.layer.shape();
    const Rows<T> rows(run.layer);
    segments.forEach(shape.rowBits(), [&](std::uint32_t row, const std::uint64_t* items, std::uint64_t count) {
        rows.forGradient(neuronOf(table, row, shape.rows()), run.call.outputGradients.data(), items, count, sum.data(),
                         f);
    });
    segments.clear();
}

/// Adds the gradients of the rows that were listed, or takes a step along them.
template <class T>
void addSegments(const FusedBackward<T>& run, std::uint64_t table, Segments& segments, std::vector<T>& sum)
{
    const WeightStep<T>& step = run.call.step;
    if (step.weights.empty()) {
        T* gradients = run.call.weightGradients.data();
        forSegments(run, table, segments, sum,
                    [gradients](std::uint64_t at, T gradient) { gradients[at] += gradient; });
    } else if (step.rates.empty()) {
        // As if added to a gradient of zero first: a step has the bits of one along an array of gradients.
        forSegments(run, table, segments, sum,
                    [weights = step.weights.data(), rate = step.rate](std::uint64_t at, T gradient) {
                        weights[at] -= rate * (T(0) + gradient);
                    });
    } else {
        forSegments(run, table, segments, sum, [&step](std::uint64_t at, T gradient) {
            step.weights[at] -= step.rate * (step.rates[at] * (T(0) + gradient));
        });
    }
}

/// Whether the gradients of the weights are wanted, or a step along them.
template <class T>
bool wantsWeights(const FusedBackward<T>& run)
{
    return !run.call.weightGradients.empty() || !run.call.step.weights.empty();
}

/// Lists what a position's pairs with all earlier ones ask for, in one table.
template <class T>
void listPairs(const FusedBackward<T>& run, std::uint64_t sample, std::uint64_t table, std::uint32_t later,
               PairList& positions, PairList& codes)
{
    const std::uint64_t rows = run.layer.shape().rows();
    positions.clear();
    codes.clear();
    for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
        const PositionPair pair{earlier, later};
        const std::uint32_t row = pairRowAt(run.layer, *run.call.tape, sample, pair, table);
        const PairChoice<T> choice = pairChoiceAt(run.layer, *run.call.tape, sample, pair, table);
        const std::uint64_t main = neuronOf(table, row, rows);
        if (choice.bit >= 0) {
            positions.add(main, neuronOf(table, flipped(row, choice.bit), rows), choice.isQuery ? later : earlier);
        }
        if (choice.codeBit >= 0) {
            codes.add(main, neuronOf(table, flipped(row, choice.codeBit), rows), later - earlier - 1);
        }
    }
}

template <class T>
void scorePairsOfTable(FusedBackward<T>& run, std::uint64_t sample, std::uint64_t table)
{
    const LayerShape& shape = run.layer.shape();
    const Rows<T> rows(run.layer);
    PairList positions;
    PairList codes;
    std::vector<T> scores;
    std::vector<T> positionSums(shape.length);
    std::vector<T> codeSums(shape.lags());
    for (std::uint32_t later = 1; later < shape.length; ++later) {
        listPairs(run, sample, table, later, positions, codes);
        const T* g = run.call.outputGradients.data() + (sample * shape.length + later) * shape.outputs;
        addScores(rows, positions, g, scores, positionSums);
        addScores(rows, codes, g, scores, codeSums);
    }
    for (std::uint64_t s = 0; s < shape.length; ++s) {
        run.positionScores[siteOf(sample, s, table, shape.length, shape.tables)] = positionSums[s];
    }
    for (std::uint64_t lag = 0; lag < shape.lags(); ++lag) {
        run.positionalScores[siteOf(sample, lag, table, shape.lags(), shape.tables)] = codeSums[lag];
    }
}

} // namespace

template <class T>
void scoreAndPropagate(const FusedBackward<T>& run)
{
    if (run.call.inputGradients.empty()) {
        return;
    }
    const LayerShape& shape = run.layer.shape();
    const Tape<T>& tape = *run.call.tape;
    const Rows<T> rows(run.layer);
    parallelItems(ceilDivide(run.call.batch, kSamplesPerItem), run.threads, [&](std::uint64_t item) {
        std::vector<std::uint64_t> main(shape.tables);
        std::vector<std::uint64_t> other(shape.tables);
        std::vector<T> scores(shape.tables);
        const IndexRange range = groupRange(item, run.call.batch, kSamplesPerItem);
        for (std::uint64_t sample = range.begin; sample < range.end; ++sample) {
            for (std::uint64_t t = 0; t < shape.tables; ++t) {
                const std::uint64_t site = sample * shape.tables + t;
                const auto row = static_cast<std::uint32_t>(tape.rows[site]);
                main[t] = neuronOf(t, row, shape.rows());
                other[t] = neuronOf(t, flipped(row, tape.bits[site]), shape.rows());
            }
            rows.scores(main.data(), other.data(), shape.tables,
                        run.call.outputGradients.data() + sample * shape.outputs, scores.data());
            propagateSample(run.layer, tape, sample, scores, run.call.inputGradients.data() + sample * shape.inputs);
        }
    });
}

template <class T>
void sumWeightGradients(const FusedBackward<T>& run)
{
    if (!wantsWeights(run)) {
        return;
    }
    const LayerShape& shape = run.layer.shape();
    parallelItems(shape.tables, run.threads, [&](std::uint64_t table) {
        Segments segments;
        std::vector<T> sum(shape.outputs);
        if (!run.call.weightGradients.empty()) {
            clearTable(run.layer, table, run.call.weightGradients);
        }
        for (std::uint64_t sample = 0; sample < run.call.batch; ++sample) {
            segments.add(static_cast<std::uint32_t>(run.call.tape->rows[sample * shape.tables + table]), sample);
            if (segments.size() == kSortedTogether) {
                addSegments(run, table, segments, sum);
            }
        }
        addSegments(run, table, segments, sum);
    });
}

template <class T>
void scorePairs(FusedBackward<T>& run)
{
    const LayerShape& shape = run.layer.shape();
    parallelItems(run.call.batch * shape.tables, run.threads,
                  [&](std::uint64_t item) { scorePairsOfTable(run, item / shape.tables, item % shape.tables); });
}

template <class T>
void propagatePositions(const FusedBackward<T>& run)
{
    if (run.call.inputGradients.empty()) {
        return;
    }
    const LayerShape& shape = run.layer.shape();
    parallelItems(run.call.batch * shape.length, run.threads, [&](std::uint64_t position) {
        T* gradients = run.call.inputGradients.data() + position * shape.inputs;
        std::fill(gradients, gradients + shape.inputs, T(0));
        for (std::uint64_t t = 0; t < shape.tables; ++t) {
            const std::uint64_t site = position * shape.tables + t;
            const Weakest<T> weakest = weakestAt(*run.call.tape, site);
            if (weakest.bit >= 0) {
                sendToAnchors(run.layer.anchorsOf(t)[weakest.bit], run.positionScores[site] * slope(weakest.delta),
                              gradients);
            }
        }
    });
}

template <class T>
void propagatePositionalEmbeddings(const FusedBackward<T>& run)
{
    const LayerShape& shape = run.layer.shape();
    std::fill(run.call.codeGradients.begin(), run.call.codeGradients.end(), T(0));
    if (run.call.codeGradients.empty()) {
        return;
    }
    const std::uint64_t places = std::uint64_t{shape.lags()} * shape.tables;
    parallelItems(shape.lags(), run.threads, [&](std::uint64_t lag) {
        for (std::uint64_t place = lag * shape.tables; place < (lag + 1) * shape.tables; ++place) {
            const Weakest<T> weakest = weakestCodeAt(*run.call.tape, place);
            T sum = 0;
            for (std::uint64_t sample = 0; sample < run.call.batch; ++sample) {
                sum += run.positionalScores[sample * places + place];
            }
            if (weakest.bit >= 0) {
                run.call.codeGradients[place * shape.codeBits + static_cast<std::uint64_t>(weakest.bit)] =
                    sum * slope(weakest.delta);
            }
        }
    });
}

template <class T>
void sumPairWeightGradients(const FusedBackward<T>& run)
{
    if (!wantsWeights(run)) {
        return;
    }
    const LayerShape& shape = run.layer.shape();
    parallelItems(shape.tables, run.threads, [&](std::uint64_t table) {
        Segments segments;
        std::vector<T> sum(shape.outputs);
        if (!run.call.weightGradients.empty()) {
            clearTable(run.layer, table, run.call.weightGradients);
        }
        for (std::uint64_t item = 0; item < run.call.batch * shape.length; ++item) {
            const std::uint64_t sample = item / shape.length;
            const auto later = static_cast<std::uint32_t>(item % shape.length);
            for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
                segments.add(pairRowAt(run.layer, *run.call.tape, sample, {earlier, later}, table), item);
            }
            if (segments.size() >= kSortedTogether) {
                addSegments(run, table, segments, sum);
            }
        }
        addSegments(run, table, segments, sum);
    });
}

template <class T>
void launchFused(FusedBackward<T>& run, const Launch& launch)
{
    switch (launch.kernel) {
    case KernelId::ScoreAndPropagate:
        scoreAndPropagate(run);
        break;
    case KernelId::SumWeightGradients:
        sumWeightGradients(run);
        break;
    case KernelId::ScorePairs:
        scorePairs(run);
        break;
    case KernelId::PropagatePositions:
        propagatePositions(run);
        break;
    case KernelId::PropagatePositionalEmbeddings:
        propagatePositionalEmbeddings(run);
        break;
    case KernelId::SumPairWeightGradients:
        sumPairWeightGradients(run);
        break;
    default:
        break;
    }
}

template void launchFused(FusedBackward<float>&, const Launch&);
template void launchFused(FusedBackward<double>&, const Launch&);

} // namespace retro::lut::cpu
