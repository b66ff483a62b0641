// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <string>

namespace retro::lrp
{

/// Whether builtinComposite() takes a specification, before there is a model; of `auto` the name alone is looked at.
/// Errors: as builtinComposite().
[[nodiscard]] base::Result<void> checkBuiltin(const std::string& specification);

} // namespace retro::lrp
