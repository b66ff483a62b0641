// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/cover.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace retro::engine
{

namespace
{

using base::inputError;
using base::Result;

/// Passes that smooth what was grown inwards.
constexpr int kSmoothings = 32;
constexpr std::array<std::array<int, 2>, 4> kNeighbours{{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}};

/// One channel of one sample inside the buffer.
struct Channel
{
    double* first;
    std::size_t pixelStride;

    double& operator[](std::size_t pixel) const { return first[pixel * pixelStride]; }
};

/// The covered pixels in the order in which they are filled from outside, ring by ring, and the neighbours that each
/// can copy from. The same for every channel.
class FillOrder
{
public:
    explicit FillOrder(const Cover& cover)
        : m_width(cover.width), m_height(cover.height), m_ring(cover.pixels.size(), 0)
    {
        for (std::size_t i = 0; i < cover.pixels.size(); ++i) {
            m_ring[i] = cover.pixels[i] != 0 ? kUnreached : 0;
        }
        std::vector<std::size_t> ring = firstRing();
        for (int depth = 1; !ring.empty(); ++depth) {
            m_order.insert(m_order.end(), ring.begin(), ring.end());
            ring = nextRing(ring, depth + 1);
        }
    }

    /// No pixel is left to take colours from.
    [[nodiscard]] bool isHopeless() const { return m_order.empty(); }

    void fill(const Channel& channel) const
    {
        for (const std::size_t pixel : m_order) {
            channel[pixel] = mean(channel, pixel, m_ring[pixel] - 1);
        }
        for (int pass = 0; pass < kSmoothings; ++pass) {
            for (const std::size_t pixel : m_order) {
                channel[pixel] = mean(channel, pixel, kUnreached);
            }
        }
    }

private:
    static constexpr int kUnreached = 1 << 30;

    template <class Visit>
    void eachNeighbour(std::size_t pixel, Visit&& visit) const
    {
        const int x = static_cast<int>(pixel) % m_width;
        const int y = static_cast<int>(pixel) / m_width;
        for (const auto& [dx, dy] : kNeighbours) {
            if (x + dx >= 0 && x + dx < m_width && y + dy >= 0 && y + dy < m_height) {
                visit(static_cast<std::size_t>((y + dy) * m_width + x + dx));
            }
        }
    }

    [[nodiscard]] std::vector<std::size_t> firstRing()
    {
        std::vector<std::size_t> ring;
        for (std::size_t pixel = 0; pixel < m_ring.size(); ++pixel) {
            if (m_ring[pixel] == 0) {
                claim(pixel, 1, ring);
            }
        }
        return ring;
    }

    [[nodiscard]] std::vector<std::size_t> nextRing(const std::vector<std::size_t>& ring, int depth)
    {
        std::vector<std::size_t> next;
        for (const std::size_t pixel : ring) {
            claim(pixel, depth, next);
        }
        return next;
    }

    void claim(std::size_t pixel, int depth, std::vector<std::size_t>& ring)
    {
        eachNeighbour(pixel, [&](std::size_t near) {
            if (m_ring[near] == kUnreached) {
                m_ring[near] = depth;
                ring.push_back(near);
            }
        });
    }

    /// Mean of the neighbours that are at most `deepest` rings inside.
    [[nodiscard]] double mean(const Channel& channel, std::size_t pixel, int deepest) const
    {
        double total = 0;
        int count = 0;
        eachNeighbour(pixel, [&](std::size_t near) {
            if (m_ring[near] <= deepest) {
                total += channel[near];
                ++count;
            }
        });
        return count > 0 ? total / count : channel[pixel];
    }

    int m_width;
    int m_height;
    std::vector<int> m_ring; // 0 = not covered
    std::vector<std::size_t> m_order;
};

double greyOf(std::size_t channel, const PictureOptions& options)
{
    const auto at = [&](const std::vector<double>& values, double fallback) {
        return values.empty() ? fallback : values[std::min(channel, values.size() - 1)];
    };
    return ((options.low + options.high) / 2 - at(options.mean, 0)) / at(options.deviation, 1);
}

void fillGrey(const Channel& channel, const Cover& cover, double grey)
{
    for (std::size_t pixel = 0; pixel < cover.pixels.size(); ++pixel) {
        if (cover.pixels[pixel] != 0) {
            channel[pixel] = grey;
        }
    }
}

Result<void> checkFit(const tensor::Tensor& input, const Cover& cover, bool isLast)
{
    const tensor::Shape& shape = input.shape();
    if (shape.size() != 4 || !tensor::isFloating(input.dtype())) {
        return inputError("only a picture (four axes of floating numbers) can be covered");
    }
    const std::int64_t rows = shape[isLast ? 1 : 2];
    const std::int64_t columns = shape[isLast ? 2 : 3];
    const bool fits = rows == cover.height && columns == cover.width &&
                      cover.pixels.size() == static_cast<std::size_t>(rows * columns);
    return fits ? Result<void>()
                : inputError(fmt::format("the cover has {} × {} pixels but the picture has {} × {}", cover.width,
                                         cover.height, columns, rows));
}

tensor::TensorBuffer inDouble(const tensor::Tensor& input)
{
    tensor::TensorBuffer buffer(tensor::DType::Float64, input.shape());
    const std::span<double> values = buffer.span<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = input.at(static_cast<std::int64_t>(i));
    }
    return buffer;
}

} // namespace

bool Cover::isEmpty() const
{
    return std::all_of(pixels.begin(), pixels.end(), [](std::uint8_t pixel) { return pixel == 0; });
}

Result<tensor::Tensor> coverInput(const tensor::Tensor& input, const Cover& cover, const PictureOptions& options)
{
    const bool isLast = options.layout == "NHWC";
    RETRO_CHECK(checkFit(input, cover, isLast));
    if (cover.isEmpty()) {
        return input;
    }
    tensor::TensorBuffer buffer = inDouble(input);
    const std::span<double> values = buffer.span<double>();
    const FillOrder order(cover);
    const bool isGrey = cover.fill == CoverFill::Grey || order.isHopeless();
    const std::size_t pixels = cover.pixels.size();
    const auto channels = static_cast<std::size_t>(input.shape()[isLast ? 3 : 1]);
    const auto samples = static_cast<std::size_t>(input.shape()[0]);
    for (std::size_t i = 0; i < samples * channels; ++i) {
        const std::size_t sample = i / channels;
        const std::size_t channel = i % channels;
        const std::size_t first = sample * channels * pixels + (isLast ? channel : channel * pixels);
        const Channel plane{values.data() + first, isLast ? channels : 1};
        if (isGrey) {
            fillGrey(plane, cover, greyOf(channel, options));
        } else {
            order.fill(plane);
        }
    }
    return std::move(buffer).freeze().to(input.dtype());
}

} // namespace retro::engine
