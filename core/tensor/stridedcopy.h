// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

namespace retro::tensor
{

/// Writes every element of `from` to `to`, element 0 … 0 at `to` itself, with `strides` (in elements, one per axis,
/// none 0 where the extent is not 1). Copies in tiles where the two memory orders differ. `to` must hold all elements.
void copyStrided(const Tensor& from, std::byte* to, const Shape& strides);

} // namespace retro::tensor
