// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/tiers/packedtensor.h"
#include "core/runtime/tiers/storagetier.h"

#include <fmt/format.h>
#include <zlib.h>

#include <atomic>
#include <vector>

namespace retro::runtime
{

using base::Result;

namespace
{

class MemoryTier final : public StorageTier
{
public:
    Result<void> put(std::uint32_t key, const Tensor& tensor) override
    {
        drop(key);
        m_tensors[key] = tensor;
        m_bytes += static_cast<std::uint64_t>(tensor.bytes());
        return {};
    }

    Result<Tensor> get(std::uint32_t key) override
    {
        const auto found = m_tensors.find(key);
        return found == m_tensors.end() ? Result<Tensor>(base::inputError(fmt::format("tier memory has no {}", key)))
                                        : Result<Tensor>(found->second);
    }

    void drop(std::uint32_t key) override
    {
        const auto found = m_tensors.find(key);
        if (found != m_tensors.end()) {
            m_bytes -= static_cast<std::uint64_t>(found->second.bytes());
            m_tensors.erase(found);
        }
    }

    [[nodiscard]] std::uint64_t bytes() const override { return m_bytes; }

private:
    std::map<std::uint32_t, Tensor> m_tensors;
    std::atomic<std::uint64_t> m_bytes{0};
};

class CompressedTier final : public StorageTier
{
public:
    Result<void> put(std::uint32_t key, const Tensor& tensor) override
    {
        drop(key);
        Packed packed{formOf(tensor), {}};
        const std::span<const std::byte> raw = bytesOf(packed.form, tensor);
        uLongf size = compressBound(static_cast<uLong>(raw.size()));
        packed.data.resize(size);
        const int code = compress2(packed.data.data(), &size, reinterpret_cast<const Bytef*>(raw.data()),
                                   static_cast<uLong>(raw.size()), Z_BEST_SPEED);
        if (code != Z_OK) {
            return base::outputError(fmt::format("tier compressed: zlib ended with {}", code));
        }
        packed.data.resize(size);
        packed.data.shrink_to_fit();
        m_bytes += packed.data.size();
        m_packed[key] = std::move(packed);
        return {};
    }

    Result<Tensor> get(std::uint32_t key) override
    {
        const auto found = m_packed.find(key);
        if (found == m_packed.end()) {
            return base::inputError(fmt::format("tier compressed has no {}", key));
        }
        const Packed& packed = found->second;
        auto storage = std::make_shared<tensor::Storage>(packed.form.bytes);
        uLongf size = static_cast<uLongf>(packed.form.bytes);
        Bytef none = 0; // zlib wants a place even for nothing
        Bytef* const to = packed.form.bytes == 0 ? &none : reinterpret_cast<Bytef*>(storage->data());
        const int code = uncompress(to, &size, packed.data.data(), static_cast<uLong>(packed.data.size()));
        if (code != Z_OK || size != packed.form.bytes) {
            return base::inputError(fmt::format("tier compressed: zlib ended with {}", code));
        }
        return tensorOf(packed.form, std::move(storage));
    }

    void drop(std::uint32_t key) override
    {
        const auto found = m_packed.find(key);
        if (found != m_packed.end()) {
            m_bytes -= found->second.data.size();
            m_packed.erase(found);
        }
    }

    [[nodiscard]] std::uint64_t bytes() const override { return m_bytes; }

private:
    struct Packed
    {
        TensorForm form;
        std::vector<Bytef> data;
    };
    std::map<std::uint32_t, Packed> m_packed;
    std::atomic<std::uint64_t> m_bytes{0};
};

} // namespace

std::shared_ptr<StorageTier> memoryTier() { return std::make_shared<MemoryTier>(); }

std::shared_ptr<StorageTier> compressedTier() { return std::make_shared<CompressedTier>(); }

TierMap standardTiers() { return {{"memory", memoryTier()}, {"compressed", compressedTier()}, {"disk", diskTier()}}; }

} // namespace retro::runtime
