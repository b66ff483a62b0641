// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/device/cudapasses.h"
#include "kernels/lut/layer.h"
#include "kernels/lut/schedule.h"
#include "kernels/lut/tape.h"

#include <span>
#include <vector>

// What the host prepares for a device: steps of a schedule, the layer as plain pointers, events in their places. Needs
// no device.
namespace retro::lut::device
{

/// The launches of a schedule as steps; waits become bits.
[[nodiscard]] std::vector<Step> stepsOf(const Schedule& schedule);

/// A layer as a device has it, with pointers into host memory; `weights` is null when rows have 16 bits.
[[nodiscard]] DeviceLayer<float> deviceLayerOf(const Layer<float>& layer);

/// The comparisons of a layer by the input that they read.
struct UsesOfInputs
{
    std::vector<std::uint64_t> starts; ///< inputs + 1
    std::vector<InputUse> uses;        ///< in the order of tables; unused comparisons are left out
};

/// Lists them. O(inputs + anchors).
[[nodiscard]] UsesOfInputs usesOfInputs(const Layer<float>& layer);

/// What each score counts for a comparison's Shapley value, at the places of shapleyPlace(). With n comparisons of
/// which a set F is undone, (1 / 2^n) Σ (−1)^|E ∩ F| / |E| over all sets E that hold the comparison.
[[nodiscard]] std::vector<double> shapleyWeights();

/// Main and alternative firing events, each in its place (mainEventsAt); what is free is empty.
struct PlacedEvents
{
    std::vector<MainEvent> main;
    std::vector<MainEvent> other;
};

/// Room for the events of a batch; nothing without positions.
[[nodiscard]] PlacedEvents eventPlacesOf(const LayerShape& shape, std::uint64_t batch);

/// Puts the events of a tape into their places. Error (BadSize): events that the layer cannot have given.
Status placeEvents(const LayerShape& shape, const Tape<float>& tape, PlacedEvents& places);

/// The events among the places, in their order, into a tape.
void takeEvents(const PlacedEvents& places, Tape<float>& tape);

} // namespace retro::lut::device
