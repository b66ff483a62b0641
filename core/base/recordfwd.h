// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace retro::base
{

template <class Record>
struct Fields; // core/base/record.h

} // namespace retro::base
