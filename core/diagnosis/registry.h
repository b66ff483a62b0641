// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/check.h"

#include <span>
#include <string_view>

namespace retro::diagnosis
{

/// All checks, in the order of the documentation.
[[nodiscard]] std::span<const Check* const> checks();
/// The check of that id; null when there is none.
[[nodiscard]] const Check* findCheck(std::string_view id);
/// The families, in order: "model", "input", …
[[nodiscard]] std::vector<std::string_view> families();

} // namespace retro::diagnosis
