// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/ops/lut/lut.h"
#include "core/ops/tablelookup.h"
#include "core/trace/run.h"

#include <optional>
#include <vector>

namespace retro::trace
{

/// Numbers of a LUT layer in a run: what was compared, which rows were chosen, and where their relevance went.
struct LutDetail
{
    base::NodeId node;
    lut::LayerShape shape;
    std::uint64_t batch = 0;
    bool isSparse = false;
    std::vector<lut::Anchor> anchors; ///< [T, C]
    tensor::Tensor input;             ///< row-major, as the layer read it
    tensor::Tensor weights;           ///< [T, R, O], or one per synapse
    tensor::Tensor codes;             ///< may be invalid
    ops::TableChoices choices;
    /// None when none arrived, or the node's rule shared none among tables (a gradient). Comparisons as the rule says.
    std::optional<ops::TableRelevance> relevance;
};

/// One comparison, or one bit of a positional code, as a table shows it.
struct ComparisonRow
{
    enum class Kind : std::uint8_t { Plain, Query, Key, Code };
    Kind kind = Kind::Plain;
    std::uint32_t number = 0; ///< of the comparison, or of the bit of the code
    std::uint32_t bit = 0;    ///< of the row
    lut::Anchor anchor;       ///< not of codes
    double first = 0;         ///< x[a]
    double second = 0;        ///< x[b]
    double difference = 0;    ///< x[a] − x[b], or the code itself
    bool isUnused = false;
    bool sets = false;
    bool isWeakest = false; ///< undoing it gives the runner-up
};

/// What one table did for a sample (and a pair of positions).
struct TableChoice
{
    std::vector<ComparisonRow> comparisons; ///< highest bits first
    std::uint32_t row = 0;
    std::optional<std::uint32_t> runnerUp; ///< none: no comparison was used
    double share = 1;                      ///< of the chosen row: 1 − 0.5 / (1 + |u|)
    std::vector<double> chosenWeights;     ///< O of them; empty for a sparse layer
    std::vector<double> otherWeights;
};

/// Whose choice is asked for; positions count only with a sequence, earlier < later.
struct TableSite
{
    std::uint64_t sample = 0;
    std::uint32_t table = 0;
    std::uint32_t later = 0;
    std::uint32_t earlier = 0;
    bool operator==(const TableSite&) const = default;
};

/// A layer that relevance arrived at: what it read, by operand slot, and the text of its rule.
struct LutSite
{
    const graph::Graph& graph;
    base::NodeId node;
    std::vector<tensor::Tensor> operands; ///< in the floating type of the run; constants included, absent ones invalid
    tensor::Tensor arrived;               ///< invalid: nothing did
    std::string rule;                     ///< "lut flip-contrast, epsilon 1e-06"; empty: the usual one
    tensor::DType floatType = tensor::DType::Float32;
};

/// Runs the layer again on what it read, with no more workspace than its rule; `choices` only where they are wanted,
/// which take more. Errors (Input): the node is no LUT layer.
[[nodiscard]] base::Result<LutDetail> lutDetail(const LutSite& site, bool wantsChoices = true);
/// Runs the layer of a node again on the values that the run kept. Errors (Input): values, weights or shapes that the
/// run does not hold, and what to do. Off the GUI thread.
[[nodiscard]] base::Result<LutDetail> lutDetail(const Run& run, base::NodeId node);

/// A launch of a run with the buffers of its pass, as it left them.
struct LaunchDetail
{
    lut::Schedule schedule;
    std::size_t launch = 0;
    std::vector<ops::TableBuffer> buffers;
};

/// The buffers behind the Launch that event `step` is: as the run recorded them, what its pass had touched until then.
/// Runs that have launches alone (files before version 13) get them by carrying out the pass again up to there on the
/// values that the run kept: the same bits on the CPU; of a relevance pass those that the run has. Errors (Input) as of
/// lutDetail; an event that is no launch of the node's layer. Off the GUI thread.
[[nodiscard]] base::Result<LaunchDetail> launchDetail(const Run& run, std::uint64_t step);

/// How long the launches of a node's layer take on a GPU, measured on the values that the run kept. Errors (Input) as
/// of lutDetail; (Engine) where there is no GPU, or it is too small. Off the GUI thread.
[[nodiscard]] base::Result<ops::LutDeviceTimes> lutDeviceTimes(const Run& run, base::NodeId node, lut::Path path);

/// What a table chose, from the detail; `site` within bounds.
[[nodiscard]] TableChoice tableChoice(const LutDetail& detail, const TableSite& site);

} // namespace retro::trace
