// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::engine
{

using base::Result;
using tensor::Shape;
using tensor::Tensor;

namespace
{

constexpr std::size_t kSeries = 3; // ranks
constexpr std::size_t kPicture = 4;
constexpr std::size_t kVolume = 5;

bool isGrid(std::size_t rank, const UnitOptions& options)
{
    return rank >= kSeries && rank <= kVolume && options.channels != ChannelAxis::None;
}

/// Extents of time or space.
Shape placesOf(const Shape& shape, bool isLast)
{
    return isLast ? Shape(shape.begin() + 1, shape.end() - 1) : Shape(shape.begin() + 2, shape.end());
}

std::int64_t sideOf(const Shape& places, int patch)
{
    if (patch > 0) {
        return patch;
    }
    const std::int64_t shortest = *std::ranges::min_element(places);
    const std::int64_t longest = *std::ranges::max_element(places);
    const std::array<std::int64_t, 3> sides{1, shortest / 16, longest / 16};
    return std::max<std::int64_t>(1, sides[places.size() - 1]);
}

/// The cell of a regular grid that a place lies in, both counted with the last axis fastest.
std::int64_t cellOf(std::int64_t place, const Shape& places, std::int64_t side)
{
    std::int64_t cell = 0;
    std::int64_t stride = 1;
    for (std::size_t axis = places.size(); axis-- > 0;) {
        cell += place % places[axis] / side * stride;
        place /= places[axis];
        stride *= (places[axis] + side - 1) / side;
    }
    return cell;
}

std::string gridText(std::size_t count, std::size_t axes, std::int64_t side)
{
    if (axes == 1) {
        return side == 1 ? fmt::format("{} steps", count) : fmt::format("{} runs of {} steps", count, side);
    }
    return axes == 2 ? fmt::format("{} patches of {} × {}", count, side, side)
                     : fmt::format("{} cubes of {} × {} × {}", count, side, side, side);
}

Result<void> checkTokens(const UnitOptions& options, const Tensor& input, const std::string& where)
{
    const bool areTokens = !tensor::isFloating(input.dtype());
    if (areTokens && !options.mask && !options.countsIntegers) {
        return base::usageError("its elements are tokens; say with --mask-id which token takes the place of those that "
                                "are removed",
                                where);
    }
    if (!areTokens && options.mask) {
        return base::usageError("--mask-id is for tokens, and its elements are numbers; leave it out", where);
    }
    return {};
}

Result<void> checkForm(const UnitOptions& options, std::size_t rank, const std::string& where)
{
    if (rank > kVolume && options.channels != ChannelAxis::None) {
        return base::usageError(
            fmt::format("it has {} axes; only series (3), pictures (4) and volumes (5) are cut into "
                        "units: --channel-axis none removes single elements",
                        rank),
            where);
    }
    if (rank == kSeries && options.channels == ChannelAxis::Unknown) {
        return base::usageError("the graph does not say which of its axes is time; say with --channel-axis where its "
                                "channels are: first (N × C × T), last (N × T × C), or none (single elements)",
                                where);
    }
    if (options.patch > 0 && !isGrid(rank, options)) {
        return base::usageError("--patch is for pictures, volumes and series; this input is removed by single elements",
                                where);
    }
    return {};
}

} // namespace

Result<UnitOptions> decideUnits(UnitOptions options, const graph::Graph& graph, const std::string& name,
                                const Tensor& input)
{
    const std::string where = fmt::format("input \"{}\"", name);
    RETRO_CHECK(checkTokens(options, input, where));
    if (options.mask) {
        options.channels = ChannelAxis::None;
    }
    const std::size_t rank = input.rank();
    const auto value = graph.findValue(name);
    if (rank >= kSeries && value) {
        const InputAxes axes = inputAxesOf(graph, *value, rank);
        options.channels = options.channels == ChannelAxis::Unknown ? axes.channels : options.channels;
        options.samples = options.channels == ChannelAxis::Last ? axes.samples : 0;
    }
    RETRO_CHECK(checkForm(options, rank, where));
    return options;
}

Units::Units(const Tensor& input, const UnitOptions& options)
{
    if (isGrid(input.rank(), options)) {
        Shape shape = input.shape(); // an axis of extent 1 moves no element
        std::rotate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(options.samples),
                    shape.begin() + static_cast<std::ptrdiff_t>(options.samples) + 1);
        cutGrid(shape, options);
    } else {
        cutElements(input, options.mask.has_value());
    }
    findReplacements(input, options);
}

void Units::cutGrid(const Shape& shape, const UnitOptions& options)
{
    const bool isUnknown = options.channels == ChannelAxis::Unknown;
    const bool isLast = options.channels == ChannelAxis::Last || (isUnknown && shape.size() == kSeries);
    const Shape places = placesOf(shape, isLast);
    const std::int64_t channels = isLast ? shape.back() : shape[1];
    const std::int64_t count = tensor::elementCount(places);
    m_places = places;
    m_channels = channels;
    m_isLast = isLast;
    const std::int64_t side = sideOf(places, options.patch);
    m_members.resize(static_cast<std::size_t>(count == 0 ? 0 : cellOf(count - 1, places, side) + 1));
    for (std::int64_t i = 0; i < channels * count; ++i) {
        const std::int64_t place = placeOf(i);
        m_channel.push_back(isLast ? i % channels : i / count);
        m_members[static_cast<std::size_t>(cellOf(place, places, side))].push_back(i);
    }
    m_text = gridText(m_members.size(), places.size(), side);
}

void Units::cutElements(const Tensor& input, bool areTokens)
{
    for (std::int64_t i = 0; i < input.size(); ++i) {
        m_members.push_back({i});
        m_channel.push_back(0);
    }
    m_text = fmt::format("{} {}", m_members.size(), areTokens ? "tokens" : "elements");
}

void Units::findReplacements(const Tensor& input, const UnitOptions& options)
{
    const std::int64_t channels = m_channel.empty() ? 0 : 1 + *std::max_element(m_channel.begin(), m_channel.end());
    m_replacement.assign(static_cast<std::size_t>(channels), static_cast<double>(options.mask.value_or(0)));
    if (options.mask || options.replacement == Replacement::Zero) {
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

Tensor Units::spread(const std::vector<double>& amounts, const Tensor& input) const
{
    std::vector<double> values(static_cast<std::size_t>(input.size()), 0);
    for (std::size_t unit = 0; unit < m_members.size(); ++unit) {
        for (const std::int64_t element : m_members[unit]) {
            values[static_cast<std::size_t>(element)] = amounts[unit] / static_cast<double>(m_members[unit].size());
        }
    }
    const Tensor result = Tensor::of<double>(input.shape(), values);
    return tensor::isFloating(input.dtype()) ? result.to(input.dtype()) : result;
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
