// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace retro::base
{

/// `bytes` zeros of which only pages that are written to take memory: for what is large and nearly all 0. Null where
/// the system does not have the addresses.
[[nodiscard]] std::shared_ptr<std::byte> zeroPages(std::size_t bytes);

} // namespace retro::base
