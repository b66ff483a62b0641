// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace retro::rows
{

/// Which sample a row is about, and which state of its file was explained.
struct RowKey
{
    std::string id;             ///< name of the input's file without its ending
    std::string source;         ///< that file with its folder; what --input says where it is no file
    std::int64_t bytes = -1;    ///< of the file; −1 = there is none
    std::int64_t modified = -1; ///< nanoseconds since 1970; −1 = there is no file
    std::int64_t sample = 0;    ///< of the samples in that file
    auto operator<=>(const RowKey&) const = default;
};

/// Relevance of one input of the model, of one sample.
struct RowPart
{
    std::string name;      ///< of the input
    tensor::Tensor values; ///< without the axis of samples
};

/// What is known of one explained sample.
struct Row
{
    RowKey key;
    std::int64_t target = -1; ///< flat index of the explained element; −1: a whole value
    std::string label = {};   ///< of the target, where the card has one
    double score = 0;
    double started = 0;             ///< relevance that started
    double reached = 0;             ///< relevance that reached the inputs
    std::vector<float> scores = {}; ///< all of the sample, where the model gives one list per sample
    std::vector<RowPart> parts = {};

    /// About as many bytes as it takes in memory and in a file.
    [[nodiscard]] std::uint64_t bytes() const;
};

/// What a file says of all its rows.
struct RowHead
{
    std::string question;                       ///< which question its rows answer: its hash
    std::map<std::string, std::string> facts{}; ///< for people: composite, model, version
};

} // namespace retro::rows
