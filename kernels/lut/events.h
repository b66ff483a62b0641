// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Records of the documented path, for host and device alike; C++17, like all that nvcc sees.
namespace retro::lut
{

/// A row that was visited by (sample, position), and how often. Sixteen bytes. A count of 0 is no event: places that
/// are reserved and not used.
struct MainEvent
{
    std::uint32_t batch = 0;
    float count = 0;
    std::uint32_t neuron = 0;   ///< table · R + row
    std::uint32_t position = 0; ///< the later one of the pair
};

/// A row that would have been visited had a least certain comparison come out the other way.
using AlternativeEvent = MainEvent;

/// Up to G_f synapses of one row: what firing events point to.
struct SynapseGroup
{
    std::uint64_t begin = 0; ///< first synapse
    std::uint32_t count = 0;
    std::uint32_t neuron = 0;
};

/// A group that fires: of the chosen row (payload 1), or of the alternative one (payload −1). Sixteen bytes. A payload
/// of 0 is no event.
struct FiringEvent
{
    std::uint32_t batch = 0;
    float payload = 0;
    std::uint64_t group = 0;
};

/// Largest gradient, in magnitude, that is not worth carrying on.
inline constexpr double kNegligible = 1e-17;
/// What marks an alternative row in the firing statistics: it never adds up to a visit.
inline constexpr double kTouched = 1e-17;

} // namespace retro::lut
