// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/units.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using tensor::Shape;
using tensor::Tensor;

Units::Units(const Tensor& input, const UnitOptions& options)
{
    if (input.rank() == 4) {
        cutPicture(input.shape(), options);
    } else if (input.rank() == 3) {
        cutSeries(input.shape());
    } else {
        cutElements(input.size());
    }
    findReplacements(input, options.replacement);
}

void Units::cutPicture(const Shape& shape, const UnitOptions& options)
{
    const std::int64_t channels = options.isChannelsLast ? shape[3] : shape[1];
    const std::int64_t height = options.isChannelsLast ? shape[1] : shape[2];
    const std::int64_t width = options.isChannelsLast ? shape[2] : shape[3];
    const std::int64_t side =
        options.patch > 0 ? options.patch : std::max<std::int64_t>(1, std::min(height, width) / 16);
    const std::int64_t columns = (width + side - 1) / side;
    const std::int64_t rows = (height + side - 1) / side;
    m_members.resize(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < channels * height * width; ++i) {
        const std::int64_t pixel = options.isChannelsLast ? i / channels : i % (height * width);
        m_channel.push_back(options.isChannelsLast ? i % channels : i / (height * width));
        const std::int64_t unit = pixel / width / side * columns + pixel % width / side;
        m_members[static_cast<std::size_t>(unit)].push_back(i);
    }
    m_text = fmt::format("{} patches of {} × {}", count(), side, side);
}

void Units::cutSeries(const Shape& shape)
{
    m_members.resize(static_cast<std::size_t>(shape[1]));
    for (std::int64_t i = 0; i < shape[1] * shape[2]; ++i) {
        m_channel.push_back(i % shape[2]);
        m_members[static_cast<std::size_t>(i / shape[2])].push_back(i);
    }
    m_text = fmt::format("{} steps", count());
}

void Units::cutElements(std::int64_t size)
{
    for (std::int64_t i = 0; i < size; ++i) {
        m_members.push_back({i});
        m_channel.push_back(0);
    }
    m_text = fmt::format("{} elements", count());
}

void Units::findReplacements(const Tensor& input, Replacement replacement)
{
    const std::int64_t channels = m_channel.empty() ? 0 : 1 + *std::max_element(m_channel.begin(), m_channel.end());
    m_replacement.assign(static_cast<std::size_t>(channels), 0);
    if (replacement == Replacement::Zero) {
        return;
    }
    std::vector<double> counts(m_replacement.size(), 0);
    for (std::size_t i = 0; i < m_channel.size(); ++i) {
        m_replacement[static_cast<std::size_t>(m_channel[i])] += input.at(static_cast<std::int64_t>(i));
        counts[static_cast<std::size_t>(m_channel[i])] += 1;
    }
    for (std::size_t c = 0; c < counts.size(); ++c) {
        m_replacement[c] /= counts[c];
    }
}

std::vector<double> Units::sums(const Tensor& values) const
{
    std::vector<double> result;
    for (const std::vector<std::int64_t>& members : m_members) {
        double sum = 0;
        for (const std::int64_t element : members) {
            sum += values.at(element);
        }
        result.push_back(sum);
    }
    return result;
}

Removal::Removal(const Tensor& input, const Units& units)
    : m_units(units), m_shape(input.shape()), m_dtype(input.dtype())
{
    for (std::int64_t i = 0; i < input.size(); ++i) {
        m_values.push_back(input.at(i));
    }
}

void Removal::remove(std::size_t unit)
{
    for (const std::int64_t element : m_units.members(unit)) {
        m_values[static_cast<std::size_t>(element)] = m_units.replacement(element);
    }
}

Tensor Removal::tensor() const { return Tensor::of<double>(m_shape, m_values).to(m_dtype); }

} // namespace retro::engine
