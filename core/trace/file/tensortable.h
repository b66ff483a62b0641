// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/file/schema.h"
#include "core/trace/run.h"

#include <map>
#include <stop_token>
#include <tuple>

namespace retro::trace::file
{

/// Tensors of a file, each once: views of the same elements share a row.
class TensorPool
{
public:
    /// Row of a tensor; −1 for an invalid one.
    [[nodiscard]] std::int64_t add(const Tensor& tensor);
    [[nodiscard]] const std::vector<Tensor>& tensors() const { return m_tensors; }

private:
    using Key = std::tuple<const tensor::Storage*, tensor::DType, std::int64_t, tensor::Shape, tensor::Shape>;
    std::map<Key, std::int64_t> m_rows; // only looked up: its order does not reach the file
    std::vector<Tensor> m_tensors;
};

/// Writes the tables tensors and pieces (row-major). Errors: Output, Cancelled.
[[nodiscard]] base::Result<void> writeTensors(Database& database, const TensorPool& pool, RowCounts& counts,
                                              const std::stop_token& stop);
/// Reads them; nothing is allocated beyond `fileBytes` per tensor. Errors: Input.
[[nodiscard]] base::Result<std::vector<Tensor>> readTensors(Database& database, const RowCounts& counts,
                                                            std::uint64_t fileBytes);

} // namespace retro::trace::file
