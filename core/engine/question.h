// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace retro::engine
{

/// Where the data of an input came from, and which state of that file it was.
struct SourceStamp
{
    std::string source;         ///< the file with its folder, or what --input says that is no file
    std::int64_t bytes = -1;    ///< of the file; −1 = there is none
    std::int64_t modified = -1; ///< nanoseconds since 1970; −1 = there is no file
    bool operator==(const SourceStamp&) const = default;
};

/// What a result answers: a result that lies in a folder stands for a question that is equal to its own.
struct Question
{
    std::string hash; ///< of everything but the data of the inputs
    std::vector<SourceStamp> sources;
    bool operator==(const Question&) const = default;
};

/// Hash of what is asked of a model, but for the data of its inputs: the model with its weights and names, rewrites,
/// what its card says about inputs and labels, target, start (the bytes of its file), composite (the text of its file),
/// engine, what is saved and forwarded, precision, how pictures become inputs. The same in every run.
[[nodiscard]] std::string questionOf(const LoadedModel& model, const ExplainRequest& request);
/// Such a hash together with further words, for what is asked beside the relevance (pictures, a recorded run).
[[nodiscard]] std::string questionWith(const std::string& question, std::span<const std::string> words);

/// The present state of the sources that --input names. Taken before they are read, so that a later change shows.
[[nodiscard]] std::vector<SourceStamp> sourceStamps(const std::vector<std::string>& texts, const graph::Graph& graph);

/// Puts `question` and `sources` into a result.
void addQuestion(const Question& question, nlohmann::ordered_json& result);
/// True when a result was made for this question, from these states of its sources.
[[nodiscard]] bool answers(const nlohmann::ordered_json& result, const Question& question);

/// Removes the file that says a folder is complete, before what lies beside it changes. Errors: Output.
[[nodiscard]] base::Result<void> withdraw(const std::filesystem::path& file);

} // namespace retro::engine
