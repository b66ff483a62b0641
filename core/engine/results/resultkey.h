// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "core/engine/question/fields.h"

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

/// Which question a result answers: one that lies in a folder is good for a question whose key is equal.
struct ResultKey
{
    std::string hash; ///< of everything but the data of the inputs
    std::vector<SourceStamp> sources;
    bool operator==(const ResultKey&) const = default;
};

/// Hash of what is asked of a model by a verb, but for the data of its inputs: the model with its weights and names,
/// rewrites, what its card says about inputs and labels, and every field of the completed question as its KeyPart says.
/// The same in every run.
[[nodiscard]] std::string resultHash(const LoadedModel& model, const Question& question, Verb verb);
/// Such a hash together with further words, for what is no field of a question.
[[nodiscard]] std::string hashWith(const std::string& result, std::span<const std::string> words);

/// The present state of the sources that --input names. Taken before they are read, so that a later change shows.
[[nodiscard]] std::vector<SourceStamp> sourceStamps(const std::vector<std::string>& texts, const graph::Graph& graph);

/// Puts `question` and `sources` into a result.
void addKey(const ResultKey& key, nlohmann::ordered_json& result);
/// True when a result was made for this question, from these states of its sources.
[[nodiscard]] bool answers(const nlohmann::ordered_json& result, const ResultKey& key);
/// The result in a file, when it answers this question; null when there is none, or when it is no such file.
[[nodiscard]] nlohmann::ordered_json storedResult(const std::filesystem::path& file, const ResultKey& key);

/// Puts the names of the files into a result, as they lie below its folder.
void listFiles(const std::vector<std::filesystem::path>& files, const std::filesystem::path& folder,
               nlohmann::ordered_json& result);
/// Removes the file that says a folder is complete, before what lies beside it changes, and the files that it lists:
/// what another question left would be taken for this one's. Files that this call reads stay. Errors (Output): it
/// cannot be removed, or is no regular file.
[[nodiscard]] base::Result<void> removeResult(const std::filesystem::path& file);

} // namespace retro::engine
