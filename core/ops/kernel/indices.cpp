// SPDX-License-Identifier: Apache-2.0
#include "core/ops/kernel/indices.h"

#include <fmt/format.h>

namespace retro::ops
{

using tensor::DType;
using tensor::Shape;

namespace
{

std::int64_t fromFront(std::int64_t index, std::int64_t extent)
{
    const std::int64_t plain = index < 0 ? index + extent : index;
    return plain >= 0 && plain < extent ? plain : -1;
}

/// Index tuples over the leading axes of a shape, after its batch axes.
struct Tuples
{
    std::vector<std::int64_t> values;
    std::size_t length = 0;   // entries of a tuple
    std::size_t count = 0;    // tuples
    std::size_t perBatch = 1; // tuples of one batch
    std::int64_t slice = 1;   // elements of a slice
    Shape extents;            // along the axes that a tuple fixes

    Tuples(const Tensor& indices, const Shape& shape, std::size_t batchAxes)
        : values(integersOf(indices)), length(static_cast<std::size_t>(indices.shape().back()))
    {
        count = length == 0 ? static_cast<std::size_t>(
                                  tensor::elementCount(Shape(indices.shape().begin(), indices.shape().end() - 1)))
                            : values.size() / length;
        std::size_t batches = 1;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            if (axis < batchAxes) {
                batches *= static_cast<std::size_t>(shape[axis]);
            } else if (axis < batchAxes + length) {
                extents.push_back(shape[axis]);
            } else {
                slice *= shape[axis];
            }
        }
        perBatch = batches == 0 ? 1 : std::max<std::size_t>(count / batches, 1);
    }

    /// Number of the slice that tuple t names, in the whole tensor; −1 when an entry is outside.
    [[nodiscard]] std::int64_t sliceOf(std::size_t t) const
    {
        auto number = static_cast<std::int64_t>(t / perBatch);
        for (std::size_t i = 0; i < length; ++i) {
            const std::int64_t index = fromFront(values[t * length + i], extents[i]);
            if (index < 0) {
                return -1;
            }
            number = number * extents[i] + index;
        }
        return number;
    }
};

} // namespace

base::Result<void> expectIndices(const BindContext& context, std::size_t slot)
{
    const DType type = context.operandTypes[slot].dtype;
    if (type != DType::Int32 && type != DType::Int64) {
        return context.error(
            fmt::format("operand {} is {}, but indices must be int32 or int64", slot, tensor::nameOf(type)));
    }
    return {};
}

base::Result<void> indicesInside(const Tensor& indices, std::int64_t extent)
{
    for (const std::int64_t index : integersOf(indices)) {
        if (fromFront(index, extent) < 0) {
            return base::inputError(fmt::format("index {} is outside an extent of {}", index, extent));
        }
    }
    return {};
}

std::vector<std::int64_t> indicesFrom(const Tensor& indices, std::int64_t extent)
{
    std::vector<std::int64_t> plain = integersOf(indices);
    for (std::int64_t& index : plain) {
        index = fromFront(index, extent);
    }
    return plain;
}

ElementMap elementPositions(const Tensor& indices, const Shape& shape, std::size_t axis)
{
    const std::vector<std::int64_t> values = integersOf(indices);
    const Shape strides = tensor::rowMajorStrides(shape);
    ElementMap map = roomForPositions(static_cast<std::int64_t>(values.size()));
    forEachIndex(indices.shape(), [&](const Shape& position) {
        const std::int64_t along = fromFront(values[map.size()], shape[axis]);
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < shape.size(); ++i) {
            offset += (i == axis ? along : position[i]) * strides[i];
        }
        map.push_back(along < 0 ? -1 : offset);
    });
    return map;
}

base::Result<std::size_t> tupleAxes(const BindContext& context, const Shape& indices, const Shape& shape,
                                    std::int64_t batchAxes)
{
    const auto rank = static_cast<std::int64_t>(shape.size());
    const auto indexRank = static_cast<std::int64_t>(indices.size());
    if (rank < 1 || indexRank < 1 || batchAxes < 0 || batchAxes >= std::min(rank, indexRank)) {
        return context.error(fmt::format("{} batch axes do not fit indices of rank {} and an operand of rank {}",
                                         batchAxes, indexRank, rank));
    }
    if (!std::equal(shape.begin(), shape.begin() + batchAxes, indices.begin())) {
        return context.error("the batch axes of indices and operand differ");
    }
    if (indices.back() > rank - batchAxes) {
        return context.error(fmt::format("index tuples have {} entries for {} axes", indices.back(), rank - batchAxes));
    }
    return static_cast<std::size_t>(batchAxes + indices.back());
}

base::Result<void> tuplesInside(const Tensor& indices, const Shape& shape, std::size_t batchAxes)
{
    const Tuples tuples(indices, shape, batchAxes);
    for (std::size_t t = 0; t < tuples.count; ++t) {
        if (tuples.sliceOf(t) < 0) {
            return base::inputError(fmt::format("index tuple {} is outside the shape [{}]", t, tensor::toText(shape)));
        }
    }
    return {};
}

ElementMap tuplePositions(const Tensor& indices, const Shape& shape, std::size_t batchAxes)
{
    const Tuples tuples(indices, shape, batchAxes);
    ElementMap map = roomForPositions(static_cast<std::int64_t>(tuples.count) * tuples.slice);
    for (std::size_t t = 0; t < tuples.count; ++t) {
        const std::int64_t number = tuples.sliceOf(t);
        for (std::int64_t i = 0; i < tuples.slice; ++i) {
            map.push_back(number < 0 ? -1 : number * tuples.slice + i);
        }
    }
    return map;
}

} // namespace retro::ops
