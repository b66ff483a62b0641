// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/peaktensors.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace retro::app
{

/// What is in memory at a peak: name, bytes, born, dies, why.
[[nodiscard]] nlohmann::ordered_json peakTensorsJson(const std::vector<schedule::PeakTensor>& tensors);

} // namespace retro::app
