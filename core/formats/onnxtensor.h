// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace retro::onnxschema
{
class TensorProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// Largest tensor that is read; one in external data may be larger than an ONNX file.
inline constexpr std::uint64_t kMaxOnnxTensorBytes = 8ULL << 30;

/// Our element type for a number of TensorProto.DataType. Errors (Input) name the type that is not read.
[[nodiscard]] base::Result<tensor::DType> dtypeOfOnnx(int dataType);

/// The tensor of a message. External data is looked for in `folder` and nowhere else. Errors (Input) name the field;
/// the caller adds file and tensor.
[[nodiscard]] base::Result<tensor::Tensor> fromTensorProto(const onnxschema::TensorProto& proto,
                                                           const std::filesystem::path& folder);
/// Type and shape of a message whose data is not read, and how many bytes it has. Errors as fromTensorProto().
struct TensorOutline
{
    tensor::DType dtype = tensor::DType::Float32;
    tensor::Shape shape;
    std::uint64_t bytes = 0; ///< in the file
};
/// The outline of a message.
[[nodiscard]] base::Result<TensorOutline> outlineOf(const onnxschema::TensorProto& proto);
/// Fills as many bytes as it is given.
using RawReader = std::function<base::Result<void>(std::span<std::byte>)>;
/// The tensor of a message without its raw data, which are `bytes` bytes elsewhere and come from `read`. Errors as
/// fromTensorProto() and `read`.
[[nodiscard]] base::Result<tensor::Tensor> fromRawData(const onnxschema::TensorProto& proto, std::uint64_t bytes,
                                                       const RawReader& read);
/// Fills type, shape and raw data.
void toTensorProto(const tensor::Tensor& tensor, onnxschema::TensorProto& proto);

} // namespace retro::formats
