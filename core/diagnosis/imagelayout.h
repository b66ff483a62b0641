// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

#include <optional>

namespace retro::diagnosis
{

/// Which axes of an input are what, where it is a batch of pictures.
struct ImageAxes
{
    std::size_t channel = 1;
    std::size_t row = 2;
    std::size_t column = 3;
};

/// Of a tensor of four axes: as the card says, else with the channels at axis 1. Nothing for other tensors, and where
/// the card says that it is no picture.
[[nodiscard]] std::optional<ImageAxes> imageAxesOf(const tensor::Shape& shape, const formats::ModelCard* card);

/// The input that the card of a model is about: the one it names, else the first; invalid ids where there is none.
[[nodiscard]] std::size_t inputOfCard(const graph::Graph& graph, const formats::ModelCard& card);

/// Values that a card maps pixels to, over all channels: the smallest and the largest; nothing of a card of no picture.
struct CardRange
{
    double least = 0;
    double largest = 1;
    double deviation = 1; ///< mean over the channels
    double mean = 0;      ///< likewise
    double black = 0;     ///< a black pixel before mean and deviation
    double white = 1;

    [[nodiscard]] double width() const { return largest - least; }
};
/// The range of numbers that a card makes of pixels; none when it describes no picture.
[[nodiscard]] std::optional<CardRange> cardRangeOf(const formats::ModelCard& card);

} // namespace retro::diagnosis
