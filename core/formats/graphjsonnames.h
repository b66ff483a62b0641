// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::formats
{

/// The name and version of the format.
inline constexpr std::string_view kGraphJsonFormat = "retrograde-graph/1";
inline constexpr std::string_view kGraphJsonName = "retrograde-graph/";

/// The element type of a name ("float32"); none when there is no such type.
[[nodiscard]] std::optional<tensor::DType> dtypeOfName(std::string_view name);

/// Bytes as base64 (RFC 4648) and back; none when the text is not base64.
[[nodiscard]] std::string toBase64(std::span<const std::byte> data);
[[nodiscard]] std::optional<std::vector<std::byte>> fromBase64(std::string_view text);

} // namespace retro::formats
