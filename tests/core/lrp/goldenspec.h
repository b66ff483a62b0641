// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/lrp/composite/composite.h"

#include <nlohmann/json.hpp>

namespace retro::lrptest
{

/// The composite that the `spec` of a golden relevance case describes. Errors (Input) name the field.
[[nodiscard]] base::Result<lrp::Composite> compositeOfSpec(const nlohmann::json& spec);

} // namespace retro::lrptest
