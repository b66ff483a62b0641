// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstdint>
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
    int patch = 0; ///< side of the squares of a picture; 0: a sixteenth of its shorter side, at least 1
    bool isChannelsLast = false;
    Replacement replacement = Replacement::Mean;
};

/// The units of an input: patches of a picture (rank 4), with all its channels; steps of a series (rank 3), with all
/// its channels; else single elements.
class Units
{
public:
    Units(const tensor::Tensor& input, const UnitOptions& options);

    [[nodiscard]] std::size_t count() const { return m_members.size(); }
    /// Flat positions of the elements of a unit.
    [[nodiscard]] const std::vector<std::int64_t>& members(std::size_t unit) const { return m_members[unit]; }
    /// Σ of `values` (in the input's shape) over each unit.
    [[nodiscard]] std::vector<double> sums(const tensor::Tensor& values) const;
    /// The input with what replaces each element, for those to be removed.
    [[nodiscard]] double replacement(std::int64_t element) const
    {
        return m_replacement[static_cast<std::size_t>(m_channel[static_cast<std::size_t>(element)])];
    }
    /// "196 patches of 14 × 14".
    [[nodiscard]] const std::string& text() const { return m_text; }

private:
    void cutPicture(const tensor::Shape& shape, const UnitOptions& options);
    void cutSeries(const tensor::Shape& shape);
    void cutElements(std::int64_t size);
    void findReplacements(const tensor::Tensor& input, Replacement replacement);

    std::vector<std::vector<std::int64_t>> m_members; // by unit
    std::vector<std::int64_t> m_channel;              // by element
    std::vector<double> m_replacement;                // by channel
    std::string m_text;
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
