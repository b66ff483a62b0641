// SPDX-License-Identifier: Apache-2.0
#include "core/ops/linear/deformsampler.h"

#include <cmath>

namespace retro::ops
{

/// Where one tap of one window reads: its element of the offsets (y; x is `windows` behind), of the mask, the row of
/// the column matrix of its first channel, and the four elements around the position.
struct DeformSampler::Sample
{
    std::int64_t offsetAt = 0;
    std::int64_t maskAt = 0;
    std::int64_t firstChannel = 0;
    std::int64_t tap = 0;
    std::int64_t window = 0;
    std::array<std::int64_t, 4> at{-1, -1, -1, -1};
    std::array<double, 4> weights{};
    std::array<double, 4> slopesY{};
    std::array<double, 4> slopesX{};

    /// Element of the column matrix of channel number `c` from the first on.
    [[nodiscard]] std::int64_t columnAt(const DeformGrid& grid, std::int64_t c) const
    {
        return ((firstChannel + c) * grid.taps() + tap) * grid.windows() + window;
    }
    /// Σ coefficient · element over the corners that lie in the image.
    template <class T>
    [[nodiscard]] double blended(const T* image, const std::array<double, 4>& coefficients) const
    {
        double sum = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            sum += at[i] < 0 ? 0 : coefficients[i] * static_cast<double>(image[at[i]]);
        }
        return sum;
    }
    /// Adds `value` to the elements, by their weights.
    template <class T>
    void scatter(double value, T* image) const
    {
        for (std::size_t i = 0; i < 4; ++i) {
            if (at[i] >= 0) {
                image[at[i]] += static_cast<T>(weights[i] * value);
            }
        }
    }
};

void DeformSampler::place(double y, double x, Sample& sample) const
{
    const bool isNear =
        y > -1 && x > -1 && y < static_cast<double>(m_grid.rows.image) && x < static_cast<double>(m_grid.columns.image);
    if (!isNear) {
        sample.at.fill(-1);
        return;
    }
    const double top = std::floor(y);
    const double left = std::floor(x);
    for (std::size_t corner = 0; corner < 4; ++corner) {
        const auto isBottom = static_cast<std::int64_t>(corner / 2);
        const auto isRight = static_cast<std::int64_t>(corner % 2);
        const std::int64_t row = static_cast<std::int64_t>(top) + isBottom;
        const std::int64_t column = static_cast<std::int64_t>(left) + isRight;
        const double down = 1 - std::abs(y - static_cast<double>(row));
        const double across = 1 - std::abs(x - static_cast<double>(column));
        const bool isInside = m_grid.rows.contains(row) && m_grid.columns.contains(column);
        sample.at[corner] = isInside ? row * m_grid.columns.image + column : -1;
        sample.weights[corner] = down * across;
        sample.slopesY[corner] = static_cast<double>(2 * isBottom - 1) * across;
        sample.slopesX[corner] = static_cast<double>(2 * isRight - 1) * down;
    }
}

/// Calls f(sample) for every tap of every window and offset group of image n.
template <class T, class F>
void DeformSampler::forEachSample(const T* offsets, std::int64_t n, const F& f) const
{
    const std::int64_t windows = m_grid.windows();
    Sample sample;
    for (std::int64_t line = 0; line < m_grid.offsetGroups * m_grid.taps(); ++line) {
        sample.tap = line % m_grid.taps();
        sample.firstChannel = line / m_grid.taps() * m_grid.channelsPerOffset();
        for (sample.window = 0; sample.window < windows; ++sample.window) {
            const std::int64_t whole = n * m_grid.offsetGroups * m_grid.taps() + line;
            sample.offsetAt = 2 * whole * windows + sample.window;
            sample.maskAt = whole * windows + sample.window;
            const std::int64_t row =
                m_grid.rows.position(sample.window / m_grid.columns.windows, sample.tap / m_grid.columns.kernel);
            const std::int64_t column =
                m_grid.columns.position(sample.window % m_grid.columns.windows, sample.tap % m_grid.columns.kernel);
            place(static_cast<double>(row) + static_cast<double>(offsets[sample.offsetAt]),
                  static_cast<double>(column) + static_cast<double>(offsets[sample.offsetAt + windows]), sample);
            f(sample);
        }
    }
}

template <class T>
void DeformSampler::read(const DeformData<T>& data, std::int64_t n, T* columns) const
{
    const T* image = data.image + n * m_grid.channels * m_grid.imageSize();
    forEachSample(data.offsets, n, [&](const Sample& sample) {
        const double factor = data.mask == nullptr ? 1 : static_cast<double>(data.mask[sample.maskAt]);
        for (std::int64_t c = 0; c < m_grid.channelsPerOffset(); ++c) {
            const T* plane = image + (sample.firstChannel + c) * m_grid.imageSize();
            columns[sample.columnAt(m_grid, c)] = static_cast<T>(factor * sample.blended(plane, sample.weights));
        }
    });
}

template <class T>
void DeformSampler::addBack(const DeformData<T>& data, std::int64_t n, const T* given, DeformOperand by,
                            T* result) const
{
    const std::int64_t imageAt = n * m_grid.channels * m_grid.imageSize();
    const T* image = data.image + imageAt;
    forEachSample(data.offsets, n, [&](const Sample& sample) {
        const double factor = data.mask == nullptr ? 1 : static_cast<double>(data.mask[sample.maskAt]);
        for (std::int64_t c = 0; c < m_grid.channelsPerOffset(); ++c) {
            const std::int64_t plane = (sample.firstChannel + c) * m_grid.imageSize();
            const auto arriving = static_cast<double>(given[sample.columnAt(m_grid, c)]);
            if (by == DeformOperand::Image) {
                sample.scatter(arriving * factor, result + imageAt + plane);
            } else if (by == DeformOperand::Mask) {
                result[sample.maskAt] += static_cast<T>(arriving * sample.blended(image + plane, sample.weights));
            } else {
                const double s = arriving * factor;
                result[sample.offsetAt] += static_cast<T>(s * sample.blended(image + plane, sample.slopesY));
                result[sample.offsetAt + m_grid.windows()] +=
                    static_cast<T>(s * sample.blended(image + plane, sample.slopesX));
            }
        }
    });
}

template void DeformSampler::read(const DeformData<float>&, std::int64_t, float*) const;
template void DeformSampler::read(const DeformData<double>&, std::int64_t, double*) const;
template void DeformSampler::addBack(const DeformData<float>&, std::int64_t, const float*, DeformOperand, float*) const;
template void DeformSampler::addBack(const DeformData<double>&, std::int64_t, const double*, DeformOperand,
                                     double*) const;

} // namespace retro::ops
