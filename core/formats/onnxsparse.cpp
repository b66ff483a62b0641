// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnxsparse.h"

#include "core/base/memorylimit.h"
#include "core/formats/onnxnames.h"
#include "core/formats/onnxschema.pb.h"
#include "core/formats/onnxtensor.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace retro::formats
{

using base::inputError;
using base::Result;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// Dense bytes that are made whatever the file holds, and per byte of values beyond that.
constexpr std::uint64_t kDenseBytesAnyway = 64ULL << 20U;
constexpr std::uint64_t kDenseBytesPerByte = 1000;

/// All sparse tensors of a model may take so much per byte of their values, beyond what may be made before a run.
constexpr std::uint64_t kSumPerByte = 16;

constexpr const char* kIndices = "field 'indices'";

/// Position of one row of indices in the dense tensor.
Result<std::int64_t> positionOf(const std::int64_t* row, std::size_t length, const tensor::Shape& shape)
{
    const bool isPosition = length == 1 && shape.size() != 1;
    const std::int64_t count = tensor::elementCount(shape);
    std::int64_t position = 0;
    for (std::size_t axis = 0; axis < length; ++axis) {
        const std::int64_t extent = isPosition ? count : shape[axis];
        if (row[axis] < 0 || row[axis] >= extent) {
            return inputError(fmt::format("the index {} is outside 0 to {} of the shape {}", row[axis], extent - 1,
                                          tensor::toText(shape)),
                              kIndices);
        }
        position = position * extent + row[axis];
    }
    return position;
}

/// The place of every value, checked.
Result<std::vector<std::int64_t>> positionsOf(const Tensor& indices, std::int64_t values, const tensor::Shape& shape)
{
    const bool isFlat = indices.rank() == 1;
    const bool isRows = indices.rank() == 2 && indices.shape()[1] == static_cast<std::int64_t>(shape.size());
    if (indices.dtype() != DType::Int64 || (!isFlat && !isRows) || indices.shape()[0] != values) {
        return inputError(fmt::format("they are {} of shape {}; {} values of a tensor of {} axes need int64 of shape "
                                      "{} or {} × {}",
                                      tensor::nameOf(indices.dtype()), tensor::toText(indices.shape()), values,
                                      shape.size(), values, values, shape.size()),
                          kIndices);
    }
    const std::size_t length = isFlat ? 1 : shape.size();
    const Tensor plain = indices.contiguous();
    std::vector<std::int64_t> positions;
    positions.reserve(static_cast<std::size_t>(values));
    for (std::int64_t i = 0; i < values; ++i) {
        const std::int64_t* row = plain.data<std::int64_t>() + static_cast<std::size_t>(i) * length;
        RETRO_TRY(const std::int64_t position, positionOf(row, length, shape));
        if (!positions.empty() && position <= positions.back()) {
            return inputError(fmt::format("entry {} is not behind the one before it: they must be in ascending order, "
                                          "each place once",
                                          i),
                              kIndices);
        }
        positions.push_back(position);
    }
    return positions;
}

/// Dense bytes that the sparse tensors of a model ask for.
class DenseSum
{
public:
    /// Adds a graph's, with the graphs inside its nodes, which are as deep as the decoder lets messages be nested.
    Result<void> addGraph(const onnxschema::GraphProto& graph)
    {
        for (const auto& initializer : graph.sparse_initializer()) {
            RETRO_CHECK(add(initializer, "sparse initializer", initializer.values().name()));
        }
        for (const auto& node : graph.node()) {
            for (const auto& attribute : node.attribute()) {
                if (attribute.has_g()) {
                    RETRO_CHECK(addGraph(attribute.g()));
                }
                if (attribute.has_sparse_tensor()) {
                    RETRO_CHECK(add(attribute.sparse_tensor(), "node", placeName(node)));
                }
            }
        }
        return {};
    }

private:
    static std::string placeName(const onnxschema::NodeProto& node)
    {
        return node.name().empty() ? node.op_type() : node.name();
    }

    Result<void> add(const onnxschema::SparseTensorProto& proto, const char* kind, const std::string& name)
    {
        const Result<TensorOutline> values = outlineOf(proto.values());
        if (!values.ok()) {
            return {}; // whoever reads it says what is wrong
        }
        const Result<std::uint64_t> bytes =
            tensor::checkedBytes({proto.dims().begin(), proto.dims().end()}, values->dtype, kMaxOnnxTensorBytes);
        if (!bytes.ok()) {
            return {};
        }
        m_dense += *bytes;
        m_values += values->bytes;
        const std::uint64_t most = std::max(base::MemoryLimit::beforeRun(), kSumPerByte * m_values);
        if (m_dense > most) {
            return base::memoryError(
                fmt::format("with this one the sparse tensors of the model take more than {} MiB; save it with dense "
                            "tensors, or give more memory (--memory)",
                            most >> 20U),
                fmt::format("{} '{}'", kind, isUtf8(name) ? name : "?"));
        }
        return {};
    }

    std::uint64_t m_dense = 0;
    std::uint64_t m_values = 0;
};

} // namespace

Result<void> checkSparseTensors(const onnxschema::GraphProto& graph) { return DenseSum().addGraph(graph); }

Result<Tensor> fromSparseTensorProto(const onnxschema::SparseTensorProto& proto, const std::filesystem::path& folder)
{
    RETRO_TRY(auto values, base::within(fromTensorProto(proto.values(), folder), "field 'values'"));
    RETRO_TRY(auto indices, base::within(fromTensorProto(proto.indices(), folder), kIndices));
    if (values.rank() != 1 || tensor::isNarrow(values.dtype())) {
        return inputError(fmt::format("they are {} of shape {}; a sparse tensor has one row of plain numbers",
                                      tensor::nameOf(values.dtype()), tensor::toText(values.shape())),
                          "field 'values'");
    }
    tensor::Shape shape(proto.dims().begin(), proto.dims().end());
    const std::uint64_t limit =
        std::min(kMaxOnnxTensorBytes,
                 std::max(kDenseBytesAnyway, kDenseBytesPerByte * static_cast<std::uint64_t>(values.bytes())));
    RETRO_CHECK(base::within(tensor::checkedBytes(shape, values.dtype(), limit), "field 'dims'"));
    RETRO_TRY(const std::vector<std::int64_t> positions, positionsOf(indices, values.size(), shape));
    tensor::TensorBuffer buffer(values.dtype(), std::move(shape));
    buffer.clear();
    const Tensor plain = values.contiguous();
    const auto* from = plain.rawData();
    const std::size_t width = tensor::sizeOf(plain.dtype());
    for (std::size_t i = 0; i < positions.size(); ++i) {
        std::memcpy(buffer.rawData() + static_cast<std::size_t>(positions[i]) * width, from + i * width, width);
    }
    return std::move(buffer).freeze();
}

} // namespace retro::formats
