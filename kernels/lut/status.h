// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

namespace retro::lut
{

/// Why a layer or a launch is refused.
enum class StatusCode {
    Ok,
    BadShape,        ///< a number of the layer's shape is out of its range
    BadAnchor,       ///< an anchor names no input, or itself
    BadConnectivity, ///< the lists of synapses contradict each other
    BadSize,         ///< an array has another size than the shape says
    TooLarge,        ///< a size overflows, or scratch is beyond the stated limit
    Device,          ///< a device has not enough memory, or a pass on it failed
    Unavailable,     ///< the back end was not built or finds no device
};

/// Success, or what is wrong and what to do about it. Nothing was launched when it is an error.
struct [[nodiscard]] Status
{
    StatusCode code = StatusCode::Ok;
    std::string message;

    [[nodiscard]] bool ok() const { return code == StatusCode::Ok; }
};

} // namespace retro::lut
