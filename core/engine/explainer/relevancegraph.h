// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// Who chooses the start of relevance in a relevance graph.
enum class GraphStart : std::uint8_t {
    ByInput, ///< an input `target` (int64, an index per sample; below 0: the largest score)
    Fixed,   ///< the target of the request: a class, or the largest score
    Given    ///< an input `start` of the shape of the scores
};

/// What a free first axis is bound to while a graph is written.
inline constexpr std::int64_t kFreeSamples = 2;

/// How a relevance graph is written.
struct RelevanceGraphForm
{
    GraphStart start = GraphStart::ByInput;
    std::vector<std::string> values; ///< further values whose relevance comes out, by name
    bool usesTaps = false;           ///< of max pooling: without a scatter, for runtimes that lack one
    std::string version{};           ///< of the program, for the metadata
    /// Of scores of batch × tokens × words: relevance starts at a word of this position (below 0: from the end), and
    /// `target` is the number of the word. None: `target` is the flat index of an element of the sample.
    std::optional<std::int64_t> position{};
};

/// The forward pass and the relevance pass of a model under a composite as one graph of operators of the ONNX standard.
/// Inputs: those of the model, with their free axes, and `target` or `start`. Outputs: those of the model,
/// `relevance/<value>` for each input that carries relevance (tokens: one number each) and each value that is asked
/// for, and the sums `rg.started` and `rg.reached`.
struct RelevanceGraph
{
    std::shared_ptr<const graph::Graph> graph;
    std::vector<std::string> relevance;          ///< names of the outputs that hold relevance
    std::string chooser;                         ///< the input that says where relevance starts; empty: none
    std::map<std::string, std::string> metadata; ///< what the file says of itself: composite, target, rules
    std::vector<std::string> warnings;
    tensor::DType floatType = tensor::DType::Float32; ///< that relevance is computed in
    std::int64_t freeExtent = 0;                      ///< that other free axes were bound to
    std::int64_t words = 0;                           ///< of a row of the scores, where `target` is one of them; else 0
    std::int64_t samples = 0; ///< of the explained value as the graph was written: its first extent
};

/// Makes the graph, of float32 numbers (float64 in Precision::Double: inputs are then cast); nothing runs.
/// `request.inputs` are not looked at: shapes are those that the model declares. Errors (Input): a node whose rule
/// cannot be written, by node and rule, with what to do; as explain(); Cancelled.
[[nodiscard]] base::Result<RelevanceGraph> relevanceGraph(const LoadedModelPointer& model,
                                                          const ExplainRequest& request, const RelevanceGraphForm& form,
                                                          const std::stop_token& stop = {});

/// Writes it as ONNX, with its metadata, as a whole or not at all. Errors: as relevanceGraph(), Usage (another ending),
/// Output.
[[nodiscard]] base::Result<RelevanceGraph>
writeRelevanceGraph(const std::filesystem::path& file, const LoadedModelPointer& model, const ExplainRequest& request,
                    const RelevanceGraphForm& form, const std::stop_token& stop = {});

} // namespace retro::engine
