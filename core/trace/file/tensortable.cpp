// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/tensortable.h"

#include "core/trace/file/records.h"

#include <algorithm>
#include <cstring>

namespace retro::trace::file
{

using base::Result;
using tensor::TensorBuffer;

std::int64_t TensorPool::add(const Tensor& tensor)
{
    if (!tensor.isValid()) {
        return -1;
    }
    const auto row = static_cast<std::int64_t>(m_tensors.size());
    const auto [at, isNew] = m_rows.try_emplace(
        {tensor.storage().get(), tensor.dtype(), tensor.offset(), tensor.shape(), tensor.strides()}, row);
    if (isNew) {
        m_tensors.push_back(tensor);
    }
    return at->second;
}

namespace
{

Result<void> writePieces(RowWriter& pieces, std::size_t row, const Tensor& tensor, const std::stop_token& stop)
{
    const Tensor plain = tensor.contiguous();
    std::span<const std::byte> rest(plain.rawData(), static_cast<std::size_t>(plain.bytes()));
    while (!rest.empty()) {
        if (stop.stop_requested()) {
            return base::Error{base::ErrorCode::Cancelled, "stopped", {}};
        }
        const std::size_t size = std::min(rest.size(), kPieceBytes);
        RETRO_CHECK(pieces.integer(static_cast<std::int64_t>(row)).blob(rest.first(size)).endRow());
        rest = rest.subspan(size);
    }
    return {};
}

/// Reads the pieces of one tensor after the other.
class PieceReader
{
public:
    PieceReader(Database& database, const RowCounts& counts) : m_rows(database, kPieces, counts[positionOf(kPieces)]) {}

    Result<void> fill(std::size_t tensor, std::span<std::byte> to)
    {
        while (!to.empty()) {
            RETRO_TRY(const bool isThere, m_rows.next());
            const std::size_t owner = isThere ? m_rows.index(tensor + 1) : 0;
            const std::span<const std::byte> piece = isThere ? m_rows.blob() : std::span<const std::byte>();
            const bool fits = isThere && owner == tensor && !piece.empty() && piece.size() <= to.size();
            RETRO_CHECK(m_rows.check(fits, "the pieces do not make up the tensor"));
            std::memcpy(to.data(), piece.data(), piece.size());
            to = to.subspan(piece.size());
        }
        return {};
    }

    Result<void> end()
    {
        RETRO_TRY(const bool isThere, m_rows.next());
        return m_rows.check(!isThere, "it belongs to no tensor");
    }

private:
    RowReader m_rows;
};

Result<Tensor> readTensor(RowReader& rows, PieceReader& pieces, std::uint64_t mostBytes)
{
    const auto dtype = static_cast<tensor::DType>(rows.index(kDTypeCount));
    ByteReader from(rows.blob());
    tensor::Shape shape = getShape(from);
    const std::optional<std::size_t> bytes = bytesWithin(dtype, shape, mostBytes);
    RETRO_CHECK(rows.check(from.isDone() && bytes.has_value(), "the shape is wrong, or larger than the file"));
    TensorBuffer buffer(dtype, std::move(shape));
    const std::span<std::byte> data(buffer.rawData(), *bytes);
    RETRO_CHECK(pieces.fill(static_cast<std::size_t>(rows.row()), data));
    if (dtype == tensor::DType::Bool) {
        std::transform(data.begin(), data.end(), data.begin(),
                       [](std::byte b) { return b == std::byte{0} ? b : std::byte{1}; });
    }
    return std::move(buffer).freeze();
}

} // namespace

Result<void> writeTensors(Database& database, const TensorPool& pool, RowCounts& counts, const std::stop_token& stop)
{
    RowWriter rows(database, kTensors);
    RowWriter pieces(database, kPieces);
    for (std::size_t i = 0; i < pool.tensors().size(); ++i) {
        const Tensor& tensor = pool.tensors()[i];
        ByteWriter shape;
        put(shape, tensor.shape());
        RETRO_CHECK(rows.integer(static_cast<std::int64_t>(tensor.dtype())).blob(shape.bytes()).endRow());
        RETRO_CHECK(writePieces(pieces, i, tensor, stop));
    }
    counts[positionOf(kTensors)] = rows.rows();
    counts[positionOf(kPieces)] = pieces.rows();
    return {};
}

Result<std::vector<Tensor>> readTensors(Database& database, const RowCounts& counts, std::uint64_t fileBytes)
{
    RowReader rows(database, kTensors, counts[positionOf(kTensors)]);
    PieceReader pieces(database, counts);
    std::vector<Tensor> tensors;
    std::uint64_t left = fileBytes; // no byte of a whole file belongs to two tensors
    while (true) {
        RETRO_TRY(const bool isThere, rows.next());
        if (!isThere) {
            break;
        }
        RETRO_TRY(Tensor tensor, readTensor(rows, pieces, left));
        left -= static_cast<std::uint64_t>(tensor.bytes());
        tensors.push_back(std::move(tensor));
    }
    RETRO_CHECK(pieces.end());
    return tensors;
}

} // namespace retro::trace::file
