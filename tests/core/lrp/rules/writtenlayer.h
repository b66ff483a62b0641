// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/attribute.h"
#include "core/lrp/rules/rules.h"

#include <functional>
#include <vector>

/// Weight rules written out term by term in double, over the taps of a layer: nothing of the engine is asked.
namespace retro::tests
{

/// One product x_input · weight that enters an output.
struct Tap
{
    std::size_t input;
    std::size_t output;
    double weight;
    std::size_t parameter; ///< flat index of the weight in its tensor
};

/// z_o = Σ over the taps of o of x·w + b_o; flat indices over all samples, which follow each other.
struct WrittenLayer
{
    std::vector<Tap> taps;
    std::vector<double> x;
    std::vector<double> b; ///< per output
    std::size_t samples = 1;

    [[nodiscard]] std::vector<double> z() const;
};

/// A half of a rule: what a tap contributes, which bias stands in the denominator, which relevance it is about.
struct WrittenHalf
{
    std::function<double(double x, double w)> term;
    std::function<double(double b)> bias;
    std::function<double(double z, double r)> relevance = [](double, double r) { return r; };
    double factor = 1;
};

/// R_i = Σ_halves factor · Σ_o term·r_o / stab(Σ terms + bias), bias policy and stabiliser as docs/composites.md
/// has them ("Numerical switches").
[[nodiscard]] std::vector<double> written(const WrittenLayer& layer, const std::vector<double>& r,
                                          const std::vector<WrittenHalf>& halves, const lrp::LinearOptions& options);

/// The same taken apart by weights: each gets what its taps hand on, in both senses of the policy Spread.
[[nodiscard]] std::vector<double> writtenWeights(const WrittenLayer& layer, const std::vector<double>& r,
                                                 const std::vector<WrittenHalf>& halves,
                                                 const lrp::LinearOptions& options);

/// Σ_halves factor · bias·r_o / stab(D) per output under the policy Absorb; zeros under the others, where nothing is
/// left to a bias.
[[nodiscard]] std::vector<double> writtenBias(const WrittenLayer& layer, const std::vector<double>& r,
                                              const std::vector<WrittenHalf>& halves,
                                              const lrp::LinearOptions& options);

/// A convolution of up to three axes; those that are missing have extent 1.
struct ConvolutionShape
{
    std::size_t batch = 1;
    std::size_t inChannels = 1;
    std::size_t outChannels = 1;
    std::size_t group = 1;
    std::size_t in[3] = {1, 1, 1};
    std::size_t kernel[3] = {1, 1, 1};
    std::size_t stride[3] = {1, 1, 1};
    std::size_t dilation[3] = {1, 1, 1};
    std::size_t padBegin[3] = {0, 0, 0};
    std::size_t padEnd[3] = {0, 0, 0};
    bool isTransposed = false;

    [[nodiscard]] std::size_t out(std::size_t axis) const;
};

/// Its taps with weights as ONNX lays them out, (out, in/group, kernel…) or transposed (in, out/group, kernel…).
[[nodiscard]] WrittenLayer writtenConvolution(const ConvolutionShape& shape, const std::vector<double>& weights,
                                              const std::vector<double>& bias);

} // namespace retro::tests
