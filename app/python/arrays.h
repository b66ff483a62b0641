// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace retro::python
{

/// Any array that lies in the memory of the machine: of numpy, or of a library that speaks DLPack.
using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;

/// The tensor of an array, with its shape and type. With `copies` a copy, else a view that keeps the array alive; what
/// writes into the array then changes the tensor. Throws Refused (Input): an element type that models do not have.
[[nodiscard]] tensor::Tensor tensorOf(const AnyArray& array, bool copies);

/// A read-only array of numpy over the memory of a tensor, which it keeps alive; strides are those of the tensor.
/// bfloat16 and types of at most 8 bits with a fraction, which numpy does not have, become float32 (a copy).
[[nodiscard]] nanobind::object arrayOf(const tensor::Tensor& tensor);

} // namespace retro::python
