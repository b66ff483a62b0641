// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <span>

namespace retro::formats
{

/// Why these bytes are no ONNX model, for a reader who does not know the format: empty, a text, a web page, another
/// program's file, cut off (with the byte), or damaged. `data` could not be decoded, or decodes to nothing useful.
[[nodiscard]] base::Error explainUnreadable(std::span<const std::byte> data);

/// True when the first bytes are text: not empty, and no control characters but white space.
[[nodiscard]] bool beginsAsText(std::span<const std::byte> data);

} // namespace retro::formats
