// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/tensorstore.h"

#include <chrono>
#include <utility>

namespace retro::runtime
{

using base::Result;

void TensorStore::put(std::uint32_t id, Tensor tensor, bool isCounted)
{
    Slot& slot = m_slots[id];
    slot.bytes = isCounted ? static_cast<std::uint64_t>(tensor.bytes()) : 0;
    m_bytes += slot.bytes;
    slot.tensor = std::move(tensor);
    slot.isThere = true;
}

Result<Tensor> TensorStore::get(std::uint32_t id)
{
    RETRO_CHECK(arrive(m_slots[id]));
    return m_slots[id].tensor;
}

Result<void> TensorStore::drop(std::uint32_t id)
{
    RETRO_CHECK(arrive(m_slots[id]));
    release(m_slots[id]);
    return {};
}

void TensorStore::offload(std::uint32_t id, std::shared_ptr<StorageTier> tier)
{
    Slot& slot = m_slots[id];
    m_moved += slot.bytes;
    slot.tier = std::move(tier);
    slot.ticket = m_stream.submit([id, to = slot.tier, tensor = slot.tensor] { return to->put(id, tensor); });
}

Result<void> TensorStore::leave(std::uint32_t id)
{
    RETRO_CHECK(await(m_slots[id].ticket));
    release(m_slots[id]);
    return {};
}

void TensorStore::prefetch(std::uint32_t id)
{
    Slot& slot = m_slots[id];
    m_moved += slot.bytes;
    m_bytes += slot.bytes;
    slot.isThere = true;
    slot.arriving = std::make_shared<Tensor>();
    slot.ticket = m_stream.submit([id, from = std::exchange(slot.tier, nullptr), to = slot.arriving]() -> Result<void> {
        RETRO_TRY(*to, from->get(id));
        from->drop(id);
        return {};
    });
}

Result<void> TensorStore::await(CopyStream::Ticket ticket)
{
    const auto start = std::chrono::steady_clock::now();
    Result<void> ended = m_stream.wait(ticket);
    m_waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return ended;
}

Result<void> TensorStore::arrive(Slot& slot)
{
    if (slot.arriving) {
        RETRO_CHECK(await(slot.ticket));
        slot.tensor = std::move(*slot.arriving);
        slot.arriving.reset();
    }
    return {};
}

void TensorStore::release(Slot& slot)
{
    slot.tensor = {};
    slot.isThere = false;
    m_bytes -= slot.bytes;
}

} // namespace retro::runtime
