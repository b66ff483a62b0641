// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/modelfacts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace retro::diagnosis
{

/// What one channel of a value was over all inputs of a folder. Numbers that are not finite count in none.
struct ChannelSums
{
    std::int64_t count = 0;
    std::int64_t fired = 0;  ///< elements that are not 0
    std::int64_t beyond = 0; ///< elements outside of Watched::least … most
    double sum = 0;
    double squares = 0;

    [[nodiscard]] double mean() const { return count > 0 ? sum / static_cast<double>(count) : 0; }
    /// Root of the variance of the population.
    [[nodiscard]] double deviation() const;
};

/// Why a value is looked at.
enum class WatchedAs : std::uint8_t {
    Normalised, ///< a BatchNormalization reads it, which knows the mean and variance of the training
    Rectified,  ///< a rectifier made it: a channel of 0 alone never fires
    Quantised,  ///< a QuantizeLinear reads it, whose type ends somewhere
    Prepared,   ///< a picture that the card's mean and std were applied to: 0 and 1 are left of them
    Linear      ///< a layer with weights and bias made it, into which a normalisation may have been merged
};

/// A value that is looked at over all inputs of a folder.
struct Watched
{
    WatchedAs as = WatchedAs::Normalised;
    std::string node;  ///< of the file
    std::string value; ///< likewise
    double least = 0;  ///< Quantised: what its type holds, in the numbers of the value, with a level beyond each end
    double most = 0;
    std::vector<ChannelSums> channels = {}; ///< along axis 1 (of one axis: one channel)

    /// Adds the value of one more input. Values with another number of channels than before are left out.
    void add(const Tensor& numbers);
};

/// How far what a normalisation reads is from what it was trained on.
struct NormalisedDistance
{
    double drift = 0;            ///< median over the channels of |mean − stored mean|/stored deviation
    double spread = 1;           ///< median over the channels of deviation/stored deviation
    std::vector<double> drifts;  ///< per channel
    std::vector<double> spreads; ///< likewise
};

/// Of a BatchNormalization with these stored means and variances; nothing to say (no channels) where they do not fit.
[[nodiscard]] NormalisedDistance distanceOf(const Watched& read, const graph::Node& node, const Tensor& means,
                                            const Tensor& variances);

/// What is worth looking at of a model, in the order of its nodes.
[[nodiscard]] std::vector<Watched> watchedIn(const ModelFacts& model);

/// True for a BatchNormalization that uses the mean and variance of its training (operands 3 and 4).
[[nodiscard]] bool isTrainedNormalisation(const graph::Node& node);

/// True for operators that are 0 wherever their operand lies below a bound. `lower` is the lower bound of a Clip, where
/// it has one as an operand; else invalid.
[[nodiscard]] bool isRectifier(const graph::Node& node, const Tensor& lower);

} // namespace retro::diagnosis
