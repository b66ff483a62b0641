// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/device/hostside.h"

#include "kernels/lut/device/relevancebodies.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>

namespace retro::lut::device
{

static_assert(sizeof(AnchorPair) == sizeof(Anchor) && alignof(AnchorPair) == alignof(Anchor));
static_assert(kUnused == kUnusedAnchor);

namespace
{

/// Puts events of one kind into their places.
class Placer
{
public:
    Placer(const LayerShape& shape, std::uint64_t batch, std::uint64_t factor)
        : m_shape(shape), m_batch(batch), m_factor(factor)
    {}

    /// False when it cannot be an event of the layer.
    bool place(const MainEvent& event, std::vector<MainEvent>& places)
    {
        if (event.batch >= m_batch || event.position >= m_shape.length || event.neuron >= m_shape.neurons()) {
            return false;
        }
        const std::uint64_t table = event.neuron / m_shape.rows();
        const std::uint64_t first =
            m_factor * mainEventsAt(event.batch, event.position, table, m_shape.length, m_shape.tables);
        m_next = first == m_first ? m_next + 1 : first;
        m_first = first;
        if (m_next >= first + m_factor * event.position) {
            return false;
        }
        places[m_next] = event;
        return true;
    }

private:
    const LayerShape& m_shape;
    std::uint64_t m_batch;
    std::uint64_t m_factor;
    std::uint64_t m_first = UINT64_MAX;
    std::uint64_t m_next = 0;
};

bool placeAll(const Array<MainEvent>& events, Placer placer, std::vector<MainEvent>& places)
{
    return std::all_of(events.begin(), events.end(),
                       [&](const MainEvent& event) { return placer.place(event, places); });
}

void takeAll(const std::vector<MainEvent>& places, Array<MainEvent>& events)
{
    events.clear();
    std::copy_if(places.begin(), places.end(), std::back_inserter(events),
                 [](const MainEvent& event) { return event.count != 0; });
}

/// One of shapleyWeights(): of `players` comparisons so many are undone; the comparison itself is one of them or not.
double shapleyWeight(std::uint32_t players, std::uint32_t undone, bool isUndone)
{
    // The comparison itself is number 0; it is among the undone ones when their set holds bit 0.
    const std::uint32_t set = isUndone ? (1U << undone) - 1 : ((1U << undone) - 1) << 1;
    double sum = 0;
    for (std::uint32_t others = 1; others < 1U << players; others += 2) {
        sum += (std::popcount(others & set) % 2 == 0 ? 1.0 : -1.0) / std::popcount(others);
    }
    return std::ldexp(sum, -static_cast<int>(players));
}

} // namespace

std::vector<Step> stepsOf(const Schedule& schedule)
{
    std::vector<Step> steps;
    for (const Launch& launch : schedule.launches) {
        Step step{launch.kernel, launch.variant, launch.stream, 0};
        for (const std::size_t before : launch.waitsFor) {
            step.waitsFor |= std::uint64_t{1} << before;
        }
        steps.push_back(step);
    }
    return steps;
}

DeviceLayer<float> deviceLayerOf(const Layer<float>& layer)
{
    const LayerDescription<float>& given = layer.description();
    const LayerShape& shape = given.shape;
    return {shape.inputs,
            shape.outputs,
            shape.tables,
            shape.comparisons,
            shape.codeBits,
            shape.length,
            shape.rows(),
            reinterpret_cast<const AnchorPair*>(given.anchors.data()),
            given.rowType == RowType::Real ? given.weights.data() : nullptr,
            given.isSparse ? given.rowStarts.data() : nullptr,
            given.isSparse ? given.columns.data() : nullptr,
            given.codes.data()};
}

UsesOfInputs usesOfInputs(const Layer<float>& layer)
{
    const LayerShape& shape = layer.shape();
    const std::span<const Anchor> anchors = layer.description().anchors;
    UsesOfInputs all{std::vector<std::uint64_t>(std::size_t{shape.inputs} + 1), {}};
    const auto isUsed = [](const Anchor& anchor) { return anchor.a != kUnusedAnchor; };
    for (const Anchor& anchor : anchors) {
        if (isUsed(anchor)) {
            ++all.starts[std::size_t{anchor.a} + 1];
            ++all.starts[std::size_t{anchor.b} + 1];
        }
    }
    std::partial_sum(all.starts.begin(), all.starts.end(), all.starts.begin());
    all.uses.resize(all.starts.back());
    std::vector<std::uint64_t> next(all.starts.begin(), all.starts.end() - 1);
    for (std::size_t i = 0; i < anchors.size(); ++i) {
        if (isUsed(anchors[i])) {
            const auto table = static_cast<std::uint32_t>(i / shape.comparisons);
            const auto bit = static_cast<std::int32_t>(i % shape.comparisons);
            all.uses[next[anchors[i].a]++] = {table, bit, 0};
            all.uses[next[anchors[i].b]++] = {table, bit, 1};
        }
    }
    return all;
}

std::vector<double> shapleyWeights()
{
    std::vector<double> weights(shapleyPlace(kMaxShapleyBits, kMaxShapleyBits, true) + 1);
    for (std::uint32_t players = 1; players <= kMaxShapleyBits; ++players) {
        for (std::uint32_t undone = 0; undone <= players; ++undone) {
            if (undone < players) {
                weights[shapleyPlace(players, undone, false)] = shapleyWeight(players, undone, false);
            }
            if (undone > 0) {
                weights[shapleyPlace(players, undone, true)] = shapleyWeight(players, undone, true);
            }
        }
    }
    return weights;
}

PlacedEvents eventPlacesOf(const LayerShape& shape, std::uint64_t batch)
{
    const std::uint64_t count = shape.isSequence ? batch * pairCount(shape.length) * shape.tables : 0;
    return {std::vector<MainEvent>(count), std::vector<MainEvent>(2 * count)};
}

Status placeEvents(const LayerShape& shape, const Tape<float>& tape, PlacedEvents& places)
{
    places = eventPlacesOf(shape, tape.batch);
    const bool fits = placeAll(tape.mainEvents, Placer(shape, tape.batch, 1), places.main) &&
                      placeAll(tape.otherEvents, Placer(shape, tape.batch, 2), places.other);
    return fits ? Status{}
                : Status{StatusCode::BadSize, "the firing events of the tape are none of this layer and batch; give "
                                              "the tape of its forward pass"};
}

void takeEvents(const PlacedEvents& places, Tape<float>& tape)
{
    takeAll(places.main, tape.mainEvents);
    takeAll(places.other, tape.otherEvents);
    tape.hasEvents = true;
}

} // namespace retro::lut::device
