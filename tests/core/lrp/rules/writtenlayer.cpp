// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/rules/writtenlayer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace retro::tests
{

namespace
{

using lrp::BiasPolicy;
using lrp::Stabiliser;
using lrp::StabiliserKind;

double signOf(const Stabiliser& stabiliser, double d) { return stabiliser.isSigned && d < 0 ? -1 : 1; }

// Denominators of one sample.
std::vector<double> stabilised(const std::vector<double>& d, const Stabiliser& stabiliser)
{
    double squares = 0;
    for (const double value : d) {
        squares += value * value;
    }
    const double rms = std::sqrt(squares / static_cast<double>(d.size()));
    const double e = stabiliser.kind == StabiliserKind::RmsScaled ? stabiliser.epsilon * rms : stabiliser.epsilon;
    std::vector<double> result;
    for (const double value : d) {
        const double sign = signOf(stabiliser, value);
        result.push_back(stabiliser.kind == StabiliserKind::Clip ? sign * std::max(sign * value, e) : value + sign * e);
    }
    return result;
}

/// One half, step by step.
class HalfSum
{
public:
    HalfSum(const WrittenLayer& layer, const WrittenHalf& half, const lrp::LinearOptions& options)
        : m_layer(layer), m_half(half), m_options(options), m_own(layer.b.size(), 0), m_count(layer.b.size(), 0)
    {
        for (const Tap& tap : layer.taps) {
            m_own[tap.output] += half.term(layer.x[tap.input], tap.weight);
            m_count[tap.output] += 1;
        }
    }

    void addTo(std::vector<double>& result, const std::vector<double>& r, std::size_t Tap::*place) const
    {
        const std::vector<double> quotients = this->quotients(r);
        const std::vector<double> z = m_layer.z();
        for (const Tap& tap : m_layer.taps) {
            const std::size_t o = tap.output;
            const double share = m_half.term(m_layer.x[tap.input], tap.weight) * quotients[o];
            const double kept = m_half.relevance(z[o], r[o]) - m_own[o] * quotients[o];
            const bool spreads = m_options.bias == BiasPolicy::Spread && quotients[o] != 0;
            result[tap.*place] += m_half.factor * (share + (spreads ? kept / m_count[o] : 0));
        }
    }

    void addBiasTo(std::vector<double>& result, const std::vector<double>& r) const
    {
        const std::vector<double> quotients = this->quotients(r);
        for (std::size_t o = 0; o < result.size(); ++o) {
            result[o] += m_half.factor * m_half.bias(m_layer.b[o]) * quotients[o];
        }
    }

private:
    // R / stab(D) per output.
    [[nodiscard]] std::vector<double> quotients(const std::vector<double>& r) const
    {
        const std::size_t size = m_own.size() / m_layer.samples;
        const std::vector<double> z = m_layer.z();
        std::vector<double> result;
        for (std::size_t sample = 0; sample < m_layer.samples; ++sample) {
            std::vector<double> d;
            for (std::size_t o = sample * size; o < (sample + 1) * size; ++o) {
                d.push_back(m_own[o] + (m_options.bias == BiasPolicy::Zero ? 0 : m_half.bias(m_layer.b[o])));
            }
            const std::vector<double> stab = stabilised(d, m_options.stabiliser);
            for (std::size_t i = 0; i < size; ++i) {
                const std::size_t o = sample * size + i;
                result.push_back(stab[i] == 0 ? 0 : m_half.relevance(z[o], r[o]) / stab[i]);
            }
        }
        return result;
    }

    const WrittenLayer& m_layer;
    const WrittenHalf& m_half;
    const lrp::LinearOptions& m_options;
    std::vector<double> m_own;
    std::vector<double> m_count;
};

using Place = std::array<std::size_t, 3>;

// All places in a box, row-major.
std::vector<Place> placesIn(const Place& extents)
{
    std::vector<Place> places;
    for (std::size_t a = 0; a < extents[0]; ++a) {
        for (std::size_t b = 0; b < extents[1]; ++b) {
            for (std::size_t c = 0; c < extents[2]; ++c) {
                places.push_back({a, b, c});
            }
        }
    }
    return places;
}

std::size_t flat(const Place& place, const Place& extents)
{
    return (place[0] * extents[1] + place[1]) * extents[2] + place[2];
}

// Where a kernel tap at `at` on the strided side falls on the other one; nothing outside.
std::optional<Place> tapPlace(const ConvolutionShape& shape, const Place& at, const Place& tap, const Place& extents)
{
    Place result{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::size_t padded = at[axis] * shape.stride[axis] + tap[axis] * shape.dilation[axis];
        if (padded < shape.padBegin[axis] || padded - shape.padBegin[axis] >= extents[axis]) {
            return std::nullopt;
        }
        result[axis] = padded - shape.padBegin[axis];
    }
    return result;
}

/// The taps of a convolution; "narrow" is the side that the stride divides.
class TapMaker
{
public:
    explicit TapMaker(const ConvolutionShape& shape) : m_shape(shape)
    {
        for (std::size_t axis = 0; axis < 3; ++axis) {
            m_in[axis] = shape.in[axis];
            m_out[axis] = shape.out(axis);
            m_kernel[axis] = shape.kernel[axis];
        }
    }

    [[nodiscard]] std::vector<Tap> make(const std::vector<double>& weights) const
    {
        std::vector<Tap> taps;
        const std::size_t inPerGroup = m_shape.inChannels / m_shape.group;
        const std::size_t outPerGroup = m_shape.outChannels / m_shape.group;
        for (std::size_t i = 0; i < m_shape.inChannels; ++i) {
            for (std::size_t k = 0; k < outPerGroup; ++k) {
                const std::size_t o = i / inPerGroup * outPerGroup + k;
                const std::size_t row = m_shape.isTransposed ? i * outPerGroup + k : o * inPerGroup + i % inPerGroup;
                addChannel(i, o, row, weights, taps);
            }
        }
        return taps;
    }

    [[nodiscard]] std::size_t outSize() const { return m_out[0] * m_out[1] * m_out[2]; }

private:
    void addChannel(std::size_t i, std::size_t o, std::size_t row, const std::vector<double>& weights,
                    std::vector<Tap>& taps) const
    {
        const Place& narrow = m_shape.isTransposed ? m_in : m_out;
        const Place& wide = m_shape.isTransposed ? m_out : m_in;
        const std::size_t kernelSize = m_kernel[0] * m_kernel[1] * m_kernel[2];
        for (const Place& at : placesIn(narrow)) {
            for (const Place& tap : placesIn(m_kernel)) {
                if (const std::optional<Place> other = tapPlace(m_shape, at, tap, wide)) {
                    const std::size_t in = m_shape.isTransposed ? flat(at, m_in) : flat(*other, m_in);
                    const std::size_t out = m_shape.isTransposed ? flat(*other, m_out) : flat(at, m_out);
                    addForAll(i, in, o, out, weights, row * kernelSize + flat(tap, m_kernel), taps);
                }
            }
        }
    }

    void addForAll(std::size_t i, std::size_t in, std::size_t o, std::size_t out, const std::vector<double>& weights,
                   std::size_t parameter, std::vector<Tap>& taps) const
    {
        const std::size_t inSize = m_in[0] * m_in[1] * m_in[2];
        for (std::size_t n = 0; n < m_shape.batch; ++n) {
            taps.push_back({(n * m_shape.inChannels + i) * inSize + in, (n * m_shape.outChannels + o) * outSize() + out,
                            weights[parameter], parameter});
        }
    }

    const ConvolutionShape& m_shape;
    Place m_in{};
    Place m_out{};
    Place m_kernel{};
};

} // namespace

std::vector<double> WrittenLayer::z() const
{
    std::vector<double> result = b;
    for (const Tap& tap : taps) {
        result[tap.output] += x[tap.input] * tap.weight;
    }
    return result;
}

std::vector<double> written(const WrittenLayer& layer, const std::vector<double>& r,
                            const std::vector<WrittenHalf>& halves, const lrp::LinearOptions& options)
{
    std::vector<double> result(layer.x.size(), 0);
    for (const WrittenHalf& half : halves) {
        HalfSum(layer, half, options).addTo(result, r, &Tap::input);
    }
    return result;
}

std::vector<double> writtenWeights(const WrittenLayer& layer, const std::vector<double>& r,
                                   const std::vector<WrittenHalf>& halves, const lrp::LinearOptions& options)
{
    std::size_t count = 0;
    for (const Tap& tap : layer.taps) {
        count = std::max(count, tap.parameter + 1);
    }
    std::vector<double> result(count, 0);
    for (const WrittenHalf& half : halves) {
        HalfSum(layer, half, options).addTo(result, r, &Tap::parameter);
    }
    return result;
}

std::vector<double> writtenBias(const WrittenLayer& layer, const std::vector<double>& r,
                                const std::vector<WrittenHalf>& halves, const lrp::LinearOptions& options)
{
    std::vector<double> result(layer.b.size(), 0);
    for (const WrittenHalf& half : halves) {
        if (options.bias == BiasPolicy::Absorb) {
            HalfSum(layer, half, options).addBiasTo(result, r);
        }
    }
    return result;
}

std::size_t ConvolutionShape::out(std::size_t axis) const
{
    const std::size_t window = (kernel[axis] - 1) * dilation[axis] + 1;
    const std::size_t padding = padBegin[axis] + padEnd[axis];
    return isTransposed ? (in[axis] - 1) * stride[axis] + window - padding
                        : (in[axis] + padding - window) / stride[axis] + 1;
}

WrittenLayer writtenConvolution(const ConvolutionShape& shape, const std::vector<double>& weights,
                                const std::vector<double>& bias)
{
    const TapMaker maker(shape);
    WrittenLayer layer;
    layer.samples = shape.batch;
    layer.taps = maker.make(weights);
    for (std::size_t n = 0; n < shape.batch; ++n) {
        for (std::size_t o = 0; o < shape.outChannels; ++o) {
            layer.b.insert(layer.b.end(), maker.outSize(), bias.empty() ? 0 : bias[o]);
        }
    }
    return layer;
}

} // namespace retro::tests
