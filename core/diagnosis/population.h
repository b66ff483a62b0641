// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace retro::diagnosis
{

/// What a model says of every sample, its inputs made in one way.
struct Answers
{
    std::string words;              ///< what is another than asked for: "R and B exchanged"; empty: nothing
    std::string option;             ///< that asks for it: "--channels BGR"; empty likewise
    std::vector<std::int64_t> best; ///< per sample: the class of the highest score

    /// How many samples get the class that they have.
    [[nodiscard]] std::size_t right(const std::vector<std::int64_t>& truth) const;
};

/// What is known of many inputs of a model: of a folder, where somebody gives one in place of a file.
struct Population
{
    std::vector<std::string> files;  ///< per sample
    std::vector<std::int64_t> truth; ///< per sample: its class; empty where nobody says
    std::int64_t classes = 0;        ///< scores of a sample
    Answers asGiven;                 ///< the inputs as somebody asked for them
    std::vector<Answers> otherwise;  ///< made otherwise, of the first samples alone where there are many
    std::string why;                 ///< nothing is known: "the target is no row of scores"; else empty

    [[nodiscard]] bool hasTruth() const { return why.empty() && !truth.empty(); }
};

} // namespace retro::diagnosis
