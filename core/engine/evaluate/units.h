// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/evaluate/channelaxis.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace retro::engine
{

/// What takes the place of what is removed.
enum class Replacement : std::uint8_t {
    Mean, ///< of the input, per channel
    Zero
};

/// How an input is cut into what is removed at once.
struct UnitOptions
{
    /// Side of the squares of a picture (0: a sixteenth of its shorter side), of the cubes of a volume (0: a sixteenth
    /// of its longest side), length of the runs of a series (0: one step); at least 1.
    int patch = 0;
    /// Unknown: of a series the last axis, else axis 1.
    ChannelAxis channels = ChannelAxis::Unknown;
    std::size_t samples = 0; ///< the axis of the samples, of extent 1
    Replacement replacement = Replacement::Mean;
    std::optional<std::int64_t> mask; ///< the token that takes the place of removed ones; before `replacement`
    bool countsIntegers = false;      ///< integers are numbers, unless there is a mask
};

/// The options with what they leave open decided by what the graph says of its input `name`. Errors (Usage): neither
/// says where the channels of a series are; a form that is not cut; a patch of what has none; tokens without a mask,
/// and the other way round.
[[nodiscard]] base::Result<UnitOptions> decideUnits(UnitOptions options, const graph::Graph& graph,
                                                    const std::string& name, const tensor::Tensor& input);

/// The units of an input, with all channels: patches of a picture (rank 4), cubes of a volume (rank 5), steps of a
/// series (rank 3); else single elements.
class Units
{
public:
    Units(const tensor::Tensor& input, const UnitOptions& options);

    [[nodiscard]] std::size_t count() const { return m_members.size(); }
    /// Flat positions of the elements of a unit.
    [[nodiscard]] const std::vector<std::int64_t>& members(std::size_t unit) const { return m_members[unit]; }
    /// Σ of `values` (in the input's shape) over each unit.
    [[nodiscard]] std::vector<double> sums(const tensor::Tensor& values) const;
    /// In the shape of `input`: the amount of each unit in equal parts for its elements. In the input's type, float64
    /// of integers.
    [[nodiscard]] tensor::Tensor spread(const std::vector<double>& amounts, const tensor::Tensor& input) const;
    /// Extents of time or space of an input that is cut along them, and the place of an element there; none of single
    /// elements.
    [[nodiscard]] const tensor::Shape& places() const { return m_places; }
    [[nodiscard]] std::int64_t placeOf(std::int64_t element) const
    {
        return m_isLast ? element / m_channels : element % tensor::elementCount(m_places);
    }
    [[nodiscard]] std::int64_t channels() const { return m_channels; }
    /// The input with what replaces each element, for those to be removed.
    [[nodiscard]] double replacement(std::int64_t element) const
    {
        return m_replacement[static_cast<std::size_t>(m_channel[static_cast<std::size_t>(element)])];
    }
    /// "196 patches of 14 × 14".
    [[nodiscard]] const std::string& text() const { return m_text; }

private:
    void cutGrid(const tensor::Shape& shape, const UnitOptions& options);
    void cutElements(const tensor::Tensor& input, bool areTokens);
    void findReplacements(const tensor::Tensor& input, const UnitOptions& options);

    std::vector<std::vector<std::int64_t>> m_members; // by unit
    std::vector<std::int64_t> m_channel;              // by element
    std::vector<double> m_replacement;                // by channel
    std::string m_text;
    tensor::Shape m_places;
    std::int64_t m_channels = 1;
    bool m_isLast = false;
};

/// An input from which units are removed one after the other.
class Removal
{
public:
    Removal(const tensor::Tensor& input, const Units& units);
    /// Removes a unit; removing it again changes nothing.
    void remove(std::size_t unit);
    /// The input as it is now.
    [[nodiscard]] tensor::Tensor tensor() const;

private:
    const Units& m_units;
    tensor::Shape m_shape;
    tensor::DType m_dtype;
    std::vector<double> m_values;
};

} // namespace retro::engine
