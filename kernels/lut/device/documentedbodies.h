// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/device/buffers.h"
#include "kernels/lut/kernelid.h"

#include <cstdint>

// What one item of a kernel of the documented path does on a device. Where the description adds from many threads to
// one place, the item is that place, and takes what is added in the order of the CPU: no atomics, the same bits.
namespace retro::lut::device
{

/// Score of some weights of a row, as the documented kernels add it up: in double.
template <class T, class W>
RETRO_HOST_DEVICE double groupScore(const PassBuffers<T, W>& b, const T* g, IndexRange row, IndexRange part)
{
    double sum = 0;
    for (std::uint64_t w = part.begin; w < part.end; ++w) {
        const std::uint64_t o = b.isSparse() ? b.layer.columns[w] : w - row.begin;
        sum += static_cast<double>(weightAt(b.layer, w)) * static_cast<double>(g[o]);
    }
    return sum;
}

/// Where the weights of a row lie.
template <class T, class W>
RETRO_HOST_DEVICE IndexRange weightsOf(const PassBuffers<T, W>& b, std::uint64_t neuron)
{
    if (b.isSparse()) {
        return {b.layer.rowStarts[neuron], b.layer.rowStarts[neuron + 1]};
    }
    return {neuron * b.layer.outputs, (neuron + 1) * b.layer.outputs};
}

/// Score of a row: groups of G_f weights, those that are negligible left out.
template <class T, class W>
RETRO_HOST_DEVICE T scoreOfRow(const PassBuffers<T, W>& b, const T* g, std::uint64_t neuron)
{
    const IndexRange row = weightsOf(b, neuron);
    const std::uint64_t count = row.end - row.begin;
    T score = 0;
    for (std::uint64_t group = 0; group < ceilDivide(count, b.documented.forwardGroup); ++group) {
        const IndexRange part = groupRange(group, count, b.documented.forwardGroup);
        const double sum = groupScore(b, g, row, {row.begin + part.begin, row.begin + part.end});
        score += magnitude(sum) > kNegligible ? static_cast<T>(sum) : T(0);
    }
    return score;
}

/// The row of a site, or the alternative one; false when there is none.
template <class T, class W>
RETRO_HOST_DEVICE bool rowOfSite(const PassBuffers<T, W>& b, std::uint64_t site, Variant variant, std::uint32_t& row)
{
    row = static_cast<std::uint32_t>(b.tape.rows[site]);
    if (variant == Variant::Alternative) {
        row = flipped(row, b.tape.bits[site]);
        return b.tape.bits[site] >= 0;
    }
    return true;
}

template <class T, class W>
RETRO_HOST_DEVICE T& cellAt(const PassBuffers<T, W>& b, std::uint64_t site, std::uint64_t row)
{
    return b.documented.dense[cellOf(site, row, b.layer.rows)];
}

/// The gradients of the outputs at (sample, position).
template <class T, class W>
RETRO_HOST_DEVICE const T* gradientsAt(const PassBuffers<T, W>& b, std::uint64_t position)
{
    return b.outputGradients + position * b.layer.outputs;
}

/// Adds ±v to the anchors of a site's weakest comparison.
template <class T, class W>
RETRO_HOST_DEVICE void sendFrom(const PassBuffers<T, W>& b, std::uint64_t site, T v)
{
    if (!(magnitude(v) > static_cast<T>(kNegligible))) {
        return;
    }
    const std::uint64_t table = site % b.layer.tables;
    const AnchorPair anchor =
        b.layer.anchors[table * b.layer.comparisons + static_cast<std::uint64_t>(b.tape.bits[site])];
    T* gradients = b.inputGradients + site / b.layer.tables * b.layer.inputs;
    gradients[anchor.a] += v;
    gradients[anchor.b] -= v;
}

/// fill_outputs_fully_connected: item = (sample, output).
template <class T, class W>
RETRO_HOST_DEVICE void fillOutput(const PassBuffers<T, W>& b, std::uint64_t item)
{
    const std::uint64_t sample = item / b.layer.outputs;
    const std::uint64_t o = item % b.layer.outputs;
    T output = 0;
    for (std::uint64_t block = 0; block < ceilDivide(b.layer.tables, b.documented.backwardGroup); ++block) {
        const IndexRange tables = groupRange(block, b.layer.tables, b.documented.backwardGroup);
        double sum = 0;
        for (std::uint64_t t = tables.begin; t < tables.end; ++t) {
            const auto row = static_cast<std::uint64_t>(b.tape.rows[sample * b.layer.tables + t]);
            sum += static_cast<double>(weightAt(b.layer, neuronOf(t, row, b.layer.rows) * b.layer.outputs + o));
        }
        output += static_cast<T>(sum);
    }
    b.output[item] = output;
}

/// Writes the firing events of one row into its places.
template <class T, class W>
RETRO_HOST_DEVICE void fireRow(const PassBuffers<T, W>& b, std::uint64_t site, std::uint32_t row, float payload,
                               std::uint64_t first)
{
    const std::uint64_t neuron = neuronOf(site % b.layer.tables, row, b.layer.rows);
    const std::uint64_t begin = b.documented.firstGroup[neuron];
    const std::uint64_t count = payload != 0 ? b.documented.firstGroup[neuron + 1] - begin : 0;
    for (std::uint64_t g = 0; g < b.documented.maxForwardGroups; ++g) {
        const auto sample = static_cast<std::uint32_t>(site / b.layer.tables);
        b.documented.firingEvents[first + g] =
            g < count ? FiringEvent{sample, payload, begin + g} : FiringEvent{sample, 0, 0};
    }
}

/// fire_detectors: item = (sample, table).
template <class T, class W>
RETRO_HOST_DEVICE void fireDetector(const PassBuffers<T, W>& b, std::uint64_t item)
{
    chooseRow(b.layer, b.input, b.tape, item);
    fireRow(b, item, static_cast<std::uint32_t>(b.tape.rows[item]), 1, item * b.documented.maxForwardGroups);
}

/// fill_outputs_by_forward_groups: item = sample.
template <class T, class W>
RETRO_HOST_DEVICE void fillByGroups(const PassBuffers<T, W>& b, std::uint64_t item)
{
    T* output = b.output + item * b.layer.outputs;
    for (std::uint64_t o = 0; o < b.layer.outputs; ++o) {
        output[o] = 0;
    }
    const std::uint64_t places = b.layer.tables * b.documented.maxForwardGroups;
    for (std::uint64_t place = item * places; place < (item + 1) * places; ++place) {
        const FiringEvent event = b.documented.firingEvents[place];
        if (event.payload != 0) {
            const SynapseGroup group = b.documented.groups[event.group];
            for (std::uint64_t s = group.begin; s < group.begin + group.count; ++s) {
                output[b.layer.columns[s]] += weightAt(b.layer, s) * static_cast<T>(event.payload);
            }
        }
    }
}

/// gather_x_gradients_fully_connected: item = (sample, table).
template <class T, class W>
RETRO_HOST_DEVICE void gatherScore(const PassBuffers<T, W>& b, Variant variant, std::uint64_t item)
{
    std::uint32_t row = 0;
    if (rowOfSite(b, item, variant, row)) {
        cellAt(b, item, row) =
            scoreOfRow(b, gradientsAt(b, item / b.layer.tables), neuronOf(item % b.layer.tables, row, b.layer.rows));
    }
}

/// gather_w_gradients_fully_connected: item = (table, output).
template <class T, class W>
RETRO_HOST_DEVICE void gatherWeight(const PassBuffers<T, W>& b, std::uint64_t item)
{
    const std::uint64_t table = item / b.layer.outputs;
    const std::uint64_t o = item % b.layer.outputs;
    for (std::uint64_t sample = 0; sample < b.batch; ++sample) {
        const auto row = static_cast<std::uint64_t>(b.tape.rows[sample * b.layer.tables + table]);
        b.weightGradients[neuronOf(table, row, b.layer.rows) * b.layer.outputs + o] += gradientsAt(b, sample)[o];
    }
}

/// propagate_through_detectors: item = sample. Clears the scores that it read.
template <class T, class W>
RETRO_HOST_DEVICE void propagateSample(const PassBuffers<T, W>& b, std::uint64_t item)
{
    for (std::uint64_t i = 0; i < b.layer.inputs; ++i) {
        b.inputGradients[item * b.layer.inputs + i] = 0;
    }
    for (std::uint64_t t = 0; t < b.layer.tables; ++t) {
        const std::uint64_t site = item * b.layer.tables + t;
        const auto row = static_cast<std::uint32_t>(b.tape.rows[site]);
        T& main = cellAt(b, site, row);
        T& other = cellAt(b, site, flipped(row, b.tape.bits[site]));
        if (b.tape.bits[site] >= 0) {
            sendFrom(b, site, (main - other) * slope(b.tape.deltas[site]));
        }
        main = 0;
        other = 0;
    }
}

/// fire_detectors_by_lookup_indices: item = (sample, table).
template <class T, class W>
RETRO_HOST_DEVICE void fireByLookup(const PassBuffers<T, W>& b, std::uint64_t item)
{
    std::uint32_t row = 0;
    rowOfSite(b, item, Variant::Main, row);
    fireRow(b, item, row, 1, item * 2 * b.documented.maxForwardGroups);
    const bool hasOther = rowOfSite(b, item, Variant::Alternative, row);
    fireRow(b, item, row, hasOther ? -1.0F : 0.0F, (item * 2 + 1) * b.documented.maxForwardGroups);
}

/// One event of gather_gradients.
template <class T, class W>
RETRO_HOST_DEVICE void gatherEvent(const PassBuffers<T, W>& b, std::uint64_t site, const FiringEvent& event)
{
    const SynapseGroup group = b.documented.groups[event.group];
    const T* g = gradientsAt(b, event.batch);
    double score = 0;
    for (std::uint64_t s = group.begin; s < group.begin + group.count; ++s) {
        const T gradient = g[b.layer.columns[s]];
        score += static_cast<double>(weightAt(b.layer, s)) * static_cast<double>(gradient);
        if (event.payload > 0) {
            b.weightGradients[s] += gradient;
        }
    }
    cellAt(b, site, group.neuron % b.layer.rows) += static_cast<T>(score);
}

/// gather_gradients: item = table.
template <class T, class W>
RETRO_HOST_DEVICE void gatherTable(const PassBuffers<T, W>& b, std::uint64_t item)
{
    const std::uint64_t places = 2 * b.documented.maxForwardGroups;
    for (std::uint64_t sample = 0; sample < b.batch; ++sample) {
        const std::uint64_t site = sample * b.layer.tables + item;
        for (std::uint64_t place = site * places; place < (site + 1) * places; ++place) {
            const FiringEvent event = b.documented.firingEvents[place];
            if (event.payload != 0) {
                gatherEvent(b, site, event);
            }
        }
    }
}

/// fill_after_detectors_firing_stat: item = (sample, later position, table).
template <class T, class W>
RETRO_HOST_DEVICE void countVisits(const PassBuffers<T, W>& b, std::uint64_t item)
{
    const std::uint64_t position = item / b.layer.tables;
    const auto later = static_cast<std::uint32_t>(position % b.layer.length);
    for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
        const PairPlace place{position / b.layer.length, {earlier, later}, item % b.layer.tables};
        const std::uint32_t row = rowOfPair(b.layer, b.tape, place);
        const PairChoice<T> choice = choiceOfPair(b.layer, b.tape, place);
        cellAt(b, item, row) += T(1);
        if (choice.bit >= 0) {
            cellAt(b, item, flipped(row, choice.bit)) += static_cast<T>(kTouched);
        }
        if (choice.codeBit >= 0) {
            cellAt(b, item, flipped(row, choice.codeBit)) += static_cast<T>(kTouched);
        }
    }
}

/// The events of (sample, later position, table) among all places.
template <class T, class W>
RETRO_HOST_DEVICE IndexRange eventsAt(const PassBuffers<T, W>& b, std::uint64_t site, Variant variant)
{
    const std::uint64_t position = site / b.layer.tables;
    const std::uint64_t later = position % b.layer.length;
    const std::uint64_t factor = variant == Variant::Alternative ? 2 : 1;
    const std::uint64_t first =
        factor * mainEventsAt(position / b.layer.length, later, site % b.layer.tables, b.layer.length, b.layer.tables);
    return {first, first + factor * later};
}

/// All places of main or alternative events.
template <class T, class W>
RETRO_HOST_DEVICE std::uint64_t eventPlaces(const PassBuffers<T, W>& b, Variant variant)
{
    return (variant == Variant::Alternative ? 2 : 1) * b.batch * pairCount(b.layer.length) * b.layer.tables;
}

template <class T, class W>
RETRO_HOST_DEVICE MainEvent* eventsOf(const PassBuffers<T, W>& b, Variant variant)
{
    return variant == Variant::Alternative ? b.documented.otherEvents : b.documented.mainEvents;
}

/// densify_firing_stat: item = (sample, later position, table). Clears the cells; places that stay free get no event.
template <class T, class W>
RETRO_HOST_DEVICE void takeCells(const PassBuffers<T, W>& b, std::uint64_t item)
{
    const std::uint64_t position = item / b.layer.tables;
    const IndexRange mains = eventsAt(b, item, Variant::Main);
    const IndexRange others = eventsAt(b, item, Variant::Alternative);
    std::uint64_t main = mains.begin;
    std::uint64_t other = others.begin;
    for (std::uint64_t row = 0; row < b.layer.rows; ++row) {
        T& cell = cellAt(b, item, row);
        if (cell == T(0)) {
            continue;
        }
        // A visit counts one, a mark next to nothing: whole visits are what is left without the fraction.
        const MainEvent event{static_cast<std::uint32_t>(position / b.layer.length),
                              cell >= T(1) ? static_cast<float>(static_cast<std::uint64_t>(cell)) : 1.0F,
                              static_cast<std::uint32_t>(neuronOf(item % b.layer.tables, row, b.layer.rows)),
                              static_cast<std::uint32_t>(position % b.layer.length)};
        if (cell >= T(1)) {
            b.documented.mainEvents[main++] = event;
        } else {
            b.documented.otherEvents[other++] = event;
        }
        cell = 0;
    }
    while (main < mains.end) {
        b.documented.mainEvents[main++] = MainEvent{};
    }
    while (other < others.end) {
        b.documented.otherEvents[other++] = MainEvent{};
    }
}

/// All main events of a (sample, position).
template <class T, class W>
RETRO_HOST_DEVICE IndexRange eventsOfPosition(const PassBuffers<T, W>& b, std::uint64_t position)
{
    const IndexRange first = eventsAt(b, position * b.layer.tables, Variant::Main);
    return {first.begin, first.begin + b.layer.tables * (first.end - first.begin)};
}

/// fill_outputs_by_sparse_firings: item = (sample, position, output); full connectivity.
template <class T, class W>
RETRO_HOST_DEVICE void fillByFirings(const PassBuffers<T, W>& b, std::uint64_t item)
{
    const IndexRange events = eventsOfPosition(b, item / b.layer.outputs);
    T sum = 0;
    for (std::uint64_t e = events.begin; e < events.end; ++e) {
        const MainEvent event = b.documented.mainEvents[e];
        if (event.count != 0) {
            sum += static_cast<T>(event.count) *
                   weightAt(b.layer, std::uint64_t{event.neuron} * b.layer.outputs + item % b.layer.outputs);
        }
    }
    b.output[item] = sum;
}

/// The same for sparse rows: item = (sample, position).
template <class T, class W>
RETRO_HOST_DEVICE void fillBySparseFirings(const PassBuffers<T, W>& b, std::uint64_t item)
{
    T* output = b.output + item * b.layer.outputs;
    for (std::uint64_t o = 0; o < b.layer.outputs; ++o) {
        output[o] = 0;
    }
    const IndexRange events = eventsOfPosition(b, item);
    for (std::uint64_t e = events.begin; e < events.end; ++e) {
        const MainEvent event = b.documented.mainEvents[e];
        const IndexRange row = event.count != 0 ? weightsOf(b, event.neuron) : IndexRange{};
        for (std::uint64_t s = row.begin; s < row.end; ++s) {
            output[b.layer.columns[s]] += static_cast<T>(event.count) * weightAt(b.layer, s);
        }
    }
}

template <class T, class W>
RETRO_HOST_DEVICE std::uint64_t positionOf(const PassBuffers<T, W>& b, const MainEvent& event)
{
    return std::uint64_t{event.batch} * b.layer.length + event.position;
}

template <class T, class W>
RETRO_HOST_DEVICE T& cellOfEvent(const PassBuffers<T, W>& b, const MainEvent& event)
{
    return cellAt(b, positionOf(b, event) * b.layer.tables, event.neuron);
}

/// gather_x_gradients_for_sequence: item = place of an event.
template <class T, class W>
RETRO_HOST_DEVICE void scoreEvent(const PassBuffers<T, W>& b, Variant variant, std::uint64_t item)
{
    const MainEvent event = eventsOf(b, variant)[item];
    if (event.count != 0) {
        cellOfEvent(b, event) = scoreOfRow(b, gradientsAt(b, positionOf(b, event)), event.neuron);
    }
}

/// gather_w_gradients_for_sequence: item = (table, output); full connectivity.
template <class T, class W>
RETRO_HOST_DEVICE void weighEvents(const PassBuffers<T, W>& b, std::uint64_t item)
{
    const std::uint64_t table = item / b.layer.outputs;
    const std::uint64_t o = item % b.layer.outputs;
    for (std::uint64_t position = 0; position < b.positions(); ++position) {
        const IndexRange events = eventsAt(b, position * b.layer.tables + table, Variant::Main);
        const T g = gradientsAt(b, position)[o];
        for (std::uint64_t e = events.begin; e < events.end; ++e) {
            const MainEvent event = b.documented.mainEvents[e];
            if (event.count != 0) {
                b.weightGradients[std::uint64_t{event.neuron} * b.layer.outputs + o] += static_cast<T>(event.count) * g;
            }
        }
    }
}

/// The same for sparse rows: item = table.
template <class T, class W>
RETRO_HOST_DEVICE void weighSparseEvents(const PassBuffers<T, W>& b, std::uint64_t item)
{
    for (std::uint64_t position = 0; position < b.positions(); ++position) {
        const IndexRange events = eventsAt(b, position * b.layer.tables + item, Variant::Main);
        for (std::uint64_t e = events.begin; e < events.end; ++e) {
            const MainEvent event = b.documented.mainEvents[e];
            const IndexRange row = event.count != 0 ? weightsOf(b, event.neuron) : IndexRange{};
            for (std::uint64_t s = row.begin; s < row.end; ++s) {
                b.weightGradients[s] += static_cast<T>(event.count) * gradientsAt(b, position)[b.layer.columns[s]];
            }
        }
    }
}

/// What a pair sends to one of its positions, if that is the weaker one.
template <class T, class W>
RETRO_HOST_DEVICE void propagatePair(const PassBuffers<T, W>& b, const PairPlace& place, bool isToQuery)
{
    const PairChoice<T> choice = choiceOfPair(b.layer, b.tape, place);
    if (choice.bit < 0 || choice.isQuery != isToQuery) {
        return;
    }
    const std::uint64_t query = querySite(b.layer, place);
    const std::uint32_t row = rowOfPair(b.layer, b.tape, place);
    const T score = cellAt(b, query, row) - cellAt(b, query, flipped(row, choice.bit));
    const std::uint64_t site = isToQuery ? query : keySite(b.layer, place);
    sendFrom(b, site, score * slope(b.tape.deltas[site]));
}

/// propagate_through_detectors_for_sequence, inputs: item = (sample, position), which is the later one of the pairs
/// with all before it, then the earlier one of those with all behind it: the order of the tiles.
template <class T, class W>
RETRO_HOST_DEVICE void propagatePosition(const PassBuffers<T, W>& b, std::uint64_t item)
{
    for (std::uint64_t i = 0; i < b.layer.inputs; ++i) {
        b.inputGradients[item * b.layer.inputs + i] = 0;
    }
    const std::uint64_t sample = item / b.layer.length;
    const auto position = static_cast<std::uint32_t>(item % b.layer.length);
    for (std::uint64_t t = 0; t < b.layer.tables; ++t) {
        for (std::uint32_t earlier = 0; earlier < position; ++earlier) {
            propagatePair(b, {sample, {earlier, position}, t}, true);
        }
        for (std::uint32_t later = position + 1; later < b.layer.length; ++later) {
            propagatePair(b, {sample, {position, later}, t}, false);
        }
    }
}

/// The same, positional codes: item = (distance, table).
template <class T, class W>
RETRO_HOST_DEVICE void propagateDistance(const PassBuffers<T, W>& b, std::uint64_t item)
{
    T* gradients = b.codeGradients + item * b.layer.codeBits;
    for (std::uint32_t p = 0; p < b.layer.codeBits; ++p) {
        gradients[p] = 0;
    }
    const auto lag = static_cast<std::uint32_t>(item / b.layer.tables);
    const std::uint64_t pairs = b.layer.length - 1 - lag;
    for (std::uint64_t k = 0; k < b.batch * pairs; ++k) {
        const auto earlier = static_cast<std::uint32_t>(k % pairs);
        const PairPlace place{k / pairs, {earlier, earlier + lag + 1}, item % b.layer.tables};
        const PairChoice<T> choice = choiceOfPair(b.layer, b.tape, place);
        if (choice.codeBit >= 0) {
            const std::uint64_t query = querySite(b.layer, place);
            const std::uint32_t row = rowOfPair(b.layer, b.tape, place);
            const T v = (cellAt(b, query, row) - cellAt(b, query, flipped(row, choice.codeBit))) *
                        slope(b.tape.codeDeltas[item]);
            gradients[choice.codeBit] += magnitude(v) > static_cast<T>(kNegligible) ? v : T(0);
        }
    }
}

/// cleanup: item = place of an event.
template <class T, class W>
RETRO_HOST_DEVICE void clearEvent(const PassBuffers<T, W>& b, Variant variant, std::uint64_t item)
{
    const MainEvent event = eventsOf(b, variant)[item];
    if (event.count != 0) {
        cellOfEvent(b, event) = 0;
    }
}

} // namespace retro::lut::device
