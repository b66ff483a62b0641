// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/pattern.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace retro::rewrite
{

/// Keys whose last two axes were swapped for the product with the queries.
struct KeyTranspose
{
    ValueId source;       ///< what the chain transposes
    std::size_t rank = 4; ///< of the keys
    /// The axes of the keys before the swap, when one Transpose did more than the swap: 0 2 1 3 for one that also took
    /// the heads of batch × tokens × heads × width in front. Empty: source is the keys.
    std::vector<std::int64_t> order = {};
    NodeId node = {}; ///< the Transpose
};

/// Reads a Transpose of three or four axes, or Reshape – Transpose(…, 0 2 1) – Reshape of keys whose shape is declared.
/// Its nodes become members.
[[nodiscard]] std::optional<KeyTranspose> keyTranspose(Pattern& pattern, ValueId transposed);

/// Makes two of a Transpose that did more than the swap: a new one to batch × heads × tokens × width, whose result is
/// handed back and whose name is added to `added`; and in its own place one that swaps the last two axes. All values
/// keep their names.
[[nodiscard]] ValueId splitKeyTranspose(Draft& draft, const KeyTranspose& keys, std::vector<std::string>& added);

} // namespace retro::rewrite
