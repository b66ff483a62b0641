// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/verify/property.h"
#include "core/engine/verify/wiringcase.h"
#include "core/tape/array/array.h"
#include "core/tape/scalar/modular.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace retro::engine
{

/// What takes the place of the linear map of a node (by name) over integers: for tests, which break one.
using IntegerMap = std::shared_ptr<const tape::Operator<tape::Array<tape::Modular>>>;
using ChangedMap = std::function<IntegerMap(const std::string&, IntegerMap)>;

/// P7 and P10 to P14 on the wiring of a model's tape, exactly: every value is one integer modulo 2⁶¹ − 1 (or a flag)
/// and every node a linear map with coefficients that follow from `seed`. What operators compute plays no part; who
/// reads whom does. `target` is where the reverse passes start. P10 does not apply where there is one order only.
/// Linear in the cells but for a queue by rank. A violated one of P7 to P12 names the smallest wiring that shows it.
[[nodiscard]] PropertyResults checkWiring(const tape::ModelTape& made, tape::Id target, std::uint64_t seed,
                                          const ChangedMap& change = {});

} // namespace retro::engine
