// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/tensor.h"

#include <cstddef>
#include <memory>
#include <span>

namespace retro::runtime
{

/// The shape of a tensor without its elements, and which bytes of its storage it looks at: enough to make it again
/// bit by bit, strides included.
struct TensorForm
{
    tensor::DType dtype = tensor::DType::Float32;
    tensor::Shape shape;
    tensor::Shape strides;
    std::int64_t offset = 0;   ///< of element 0…0 in the bytes, in elements
    std::size_t firstByte = 0; ///< of the tensor's storage
    std::size_t bytes = 0;
};

/// The form of a valid tensor.
[[nodiscard]] TensorForm formOf(const tensor::Tensor& tensor);
/// The bytes that a form stands for; borrowed from the tensor.
[[nodiscard]] std::span<const std::byte> bytesOf(const TensorForm& form, const tensor::Tensor& tensor);
/// The tensor of a form over `storage`, which holds exactly its bytes.
[[nodiscard]] tensor::Tensor tensorOf(const TensorForm& form, std::shared_ptr<const tensor::Storage> storage);

} // namespace retro::runtime
