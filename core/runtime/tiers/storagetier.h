// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace retro::runtime
{

using tensor::Tensor;

/// A place outside a plan's memory, for tensors by number. What comes back has the type, shape, strides and bits of
/// what was put. Called from one thread at a time, the one that copies; owns what it holds.
class StorageTier
{
public:
    virtual ~StorageTier() = default;
    /// Keeps a tensor; a second call for the same key replaces it. Errors (Output): no room, cannot be written.
    [[nodiscard]] virtual base::Result<void> put(std::uint32_t key, const Tensor& tensor) = 0;
    /// What is kept under the key. Errors (Input): nothing is, or it can no longer be read.
    [[nodiscard]] virtual base::Result<Tensor> get(std::uint32_t key) = 0;
    /// Forgets the key; nothing happens when there is none.
    virtual void drop(std::uint32_t key) = 0;
    /// Bytes that the tier takes now, in its own form.
    [[nodiscard]] virtual std::uint64_t bytes() const = 0;
};

/// Tiers by the names that plans call them.
using TierMap = std::map<std::string, std::shared_ptr<StorageTier>, std::less<>>;

/// Tensors as they are, in memory that the plan does not count.
[[nodiscard]] std::shared_ptr<StorageTier> memoryTier();
/// Tensors in memory, packed by zlib (fastest level).
[[nodiscard]] std::shared_ptr<StorageTier> compressedTier();
/// A file per tensor in a folder of its own under `parent` (empty = the system's place for temporary files), made with
/// the first tensor and removed with the tier.
[[nodiscard]] std::shared_ptr<StorageTier> diskTier(const std::filesystem::path& parent = {});
/// "memory", "compressed" and "disk".
[[nodiscard]] TierMap standardTiers();

} // namespace retro::runtime
