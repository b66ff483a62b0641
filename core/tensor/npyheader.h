// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

#include <string_view>

namespace retro::tensor
{

/// What the header of a .npy file says: a Python dictionary with exactly the keys descr, fortran_order, shape.
struct NpyHeader
{
    DType dtype = DType::Float32;
    bool isFortranOrder = false;
    Shape shape;
};

/// Reads the dictionary. Errors (Input); the place names the header field.
[[nodiscard]] base::Result<NpyHeader> parseNpyHeader(std::string_view text);

/// Type code as NumPy writes it: "<f4", "|u1". BFloat16 has none and is written as float32.
[[nodiscard]] std::string_view npyTypeCode(DType dtype);

} // namespace retro::tensor
