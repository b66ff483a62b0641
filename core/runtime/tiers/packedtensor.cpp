// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/tiers/packedtensor.h"

namespace retro::runtime
{

TensorForm formOf(const tensor::Tensor& tensor)
{
    TensorForm form{tensor.dtype(), tensor.shape(), tensor.strides(), 0, 0, 0};
    if (tensor.size() == 0) {
        return form;
    }
    std::int64_t lowest = tensor.offset();
    std::int64_t highest = tensor.offset();
    for (std::size_t axis = 0; axis < tensor.rank(); ++axis) {
        const std::int64_t reach = (tensor.shape()[axis] - 1) * tensor.strides()[axis];
        (reach < 0 ? lowest : highest) += reach;
    }
    const std::size_t size = tensor::sizeOf(tensor.dtype());
    form.offset = tensor.offset() - lowest;
    form.firstByte = static_cast<std::size_t>(lowest) * size;
    form.bytes = static_cast<std::size_t>(highest - lowest + 1) * size;
    return form;
}

std::span<const std::byte> bytesOf(const TensorForm& form, const tensor::Tensor& tensor)
{
    return {tensor.storage()->data() + form.firstByte, form.bytes};
}

tensor::Tensor tensorOf(const TensorForm& form, std::shared_ptr<const tensor::Storage> storage)
{
    return {form.dtype, form.shape, form.strides, form.offset, std::move(storage)};
}

} // namespace retro::runtime
