// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/luttrain/luttraining.h"

#include <filesystem>
#include <string>
#include <vector>

namespace retro::app
{

/// What the command line of retrograde-lut-train says.
struct TrainOptions
{
    std::filesystem::path data;
    std::filesystem::path out;
    std::vector<std::string> layers;    ///< parseLayer() of each
    std::uint32_t embedding = 32;       ///< numbers per token
    std::uint64_t seed = 1;             ///< of the network
    std::vector<std::uint32_t> picture; ///< height and width; empty = the inputs are no picture
    engine::LutTrainOptions training;
};

/// The arrays of a data file.
struct TrainData
{
    engine::LutDataSet train;
    engine::LutDataSet test; ///< may be empty
};

/// A layer as text: `[seq:]TxC[xP][%S[@R]]…[:O|:+][@R]`: tables, comparisons, bits of a positional code; groups of
/// synapses of a sparse layer, each with its share of the outputs and its rate, without 1; O outputs, or + for a
/// residual layer as wide as its input, without, as many as there are classes; its rate factor, without 1. A rate
/// behind a group is the group's. Errors (Usage).
[[nodiscard]] base::Result<engine::LutLayerPlan> parseLayer(const std::string& text);

/// Reads `x`, `y` and, when they are there, `x_test`, `y_test` of an .npz file; integers become int64, other numbers
/// float32. Errors (Input): the file, a missing array.
[[nodiscard]] base::Result<TrainData> readTrainData(const std::filesystem::path& path);

/// The network that fits options and data. Errors: Usage (a layer), Input (arrays of no use).
[[nodiscard]] base::Result<engine::LutNetworkPlan> planFor(const TrainOptions& options, const TrainData& data);

} // namespace retro::app
