// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/lutdetail.h"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace retro::base
{
class FileBatch;
}

namespace retro::engine
{

/// The table of a LUT layer that had the most relevance for a sample, at whatever place of it, and the comparison in it
/// that had the most.
struct LutDecision
{
    std::string node;
    std::uint64_t sample = 0;
    std::vector<std::int64_t> place; ///< along the axes between those of samples and of what the layer reads
    std::uint32_t table = 0;
    double relevance = 0; ///< of the table
    double share = 0;     ///< of the amounts of all tables
    std::uint32_t row = 0;
    trace::ComparisonRow comparison;
    double comparisonRelevance = 0;
    std::optional<trace::TableSite> pair; ///< of positions with the most relevance; row and comparison are of that pair
    double pairRelevance = 0;

    /// "place 3, 5; table 41 (+3.21, 12.3 % of all amounts), row 22, by pair 3: x[17] = 0.81 > x[52] = 0.12".
    [[nodiscard]] std::string text() const;
};

/// Most samples whose decisions are listed, per layer.
inline constexpr std::uint64_t kMostLutSamples = 16;

/// A LUT layer that relevance reached.
struct LutLayer
{
    base::NodeId node;
    std::vector<LutDecision> decisions; ///< what decided for the first samples
    ops::TableRelevance relevance;      ///< by table, comparison and pair alone
};

/// The layer behind a detail that has relevance.
[[nodiscard]] LutLayer lutLayerOf(const graph::Graph& graph, const trace::LutDetail& detail);
/// Every such layer of a run that kept its values; none of runs without values or weights.
[[nodiscard]] std::vector<LutLayer> lutLayers(const trace::Run& run);
/// True when the graph has a LUT layer.
[[nodiscard]] bool hasLutLayer(const graph::Graph& graph);
/// The same for summary.json.
[[nodiscard]] nlohmann::ordered_json lutDecisionsJson(const std::vector<LutLayer>& layers);

/// Writes where the relevance of every layer went, of all samples, named after the value that the layer makes
/// (`names`, by ValueId): FOLDER/NAME.tables.npy [B, T], NAME.comparisons.npy [B, T, bits of a row] and, of a sequence,
/// NAME.pairs.npy [B, S, S]: how much each position owes to each earlier one. Errors (Output).
[[nodiscard]] base::Result<void> writeLutMaps(base::FileBatch& files, const std::filesystem::path& folder,
                                              const std::vector<LutLayer>& layers, const graph::Graph& graph,
                                              const std::vector<std::string>& names);

} // namespace retro::engine
