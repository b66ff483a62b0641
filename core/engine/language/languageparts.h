// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/boundmodel.h"
#include "core/tensor/tensor.h"

#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// Where the layers of a language model begin, and the values of their heads.
struct LanguageParts
{
    struct Heads
    {
        base::ValueId value;
        std::int64_t count = 1;
        bool isByHead = false; ///< batch × heads × tokens × width; else batch × tokens × (heads · width)
    };
    std::vector<base::ValueId> streams; ///< entering each layer, and behind the last: batch × tokens × features
    std::vector<Heads> heads;           ///< per layer
};

/// Those that a file names:
/// {"streams": ["value", …], "heads": [{"value": "…", "count": 32, "by_head": false}, …]}.
/// Errors (Input): the file, a value that the model does not have.
[[nodiscard]] base::Result<LanguageParts> readLanguageParts(const std::string& file, const graph::Graph& graph);
/// Those that are found by the structure of the graph; none where there is no such structure.
[[nodiscard]] LanguageParts findLanguageParts(const execute::BoundModel& model);

/// Relevance of the streams, summed over features: (layers + 1) × tokens, float64; invalid without streams.
[[nodiscard]] tensor::Tensor relevanceOfStreams(const LanguageParts& parts, std::span<const tensor::Tensor> relevance,
                                                std::int64_t tokens);
/// Relevance of the heads: layers × tokens × heads, float64; invalid without heads.
[[nodiscard]] tensor::Tensor relevanceOfHeads(const LanguageParts& parts, std::span<const tensor::Tensor> relevance,
                                              std::int64_t tokens);

} // namespace retro::engine
