// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/runtime/tiers/copystream.h"
#include "core/runtime/tiers/storagetier.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace retro::runtime
{

/// The memory of a plan: which values are in it, how many bytes they have, and what is on its way to or from a tier.
/// Bytes are those of the tensors' elements. Used from the thread that runs a plan.
class TensorStore
{
public:
    /// `stream` does the copies and must outlive the store.
    TensorStore(std::size_t valueCount, CopyStream& stream) : m_slots(valueCount), m_stream(stream) {}

    /// Puts a value into memory. An uncounted one (pinned) adds no bytes.
    void put(std::uint32_t id, Tensor tensor, bool isCounted = true);
    /// The value; waits for a copy that still brings it. Invalid when it is not in memory. Errors: of the copy.
    [[nodiscard]] base::Result<Tensor> get(std::uint32_t id);
    [[nodiscard]] bool has(std::uint32_t id) const { return m_slots[id].isThere; }
    /// Takes a value out of memory, after the end of a copy that still brings it.
    [[nodiscard]] base::Result<void> drop(std::uint32_t id);

    /// Starts to copy a value to a tier; it stays in memory until leave().
    void offload(std::uint32_t id, std::shared_ptr<StorageTier> tier);
    /// Ends an offload: waits for the copy and takes the value out of memory.
    [[nodiscard]] base::Result<void> leave(std::uint32_t id);
    /// Takes room for a value and starts to copy it back.
    void prefetch(std::uint32_t id);

    /// Bytes in memory, room that was taken included.
    [[nodiscard]] std::uint64_t bytes() const { return m_bytes; }
    /// Seconds that get(), drop() and leave() waited.
    [[nodiscard]] double waited() const { return m_waited; }
    [[nodiscard]] std::uint64_t movedBytes() const { return m_moved; }

private:
    struct Slot
    {
        Tensor tensor;
        std::shared_ptr<Tensor> arriving; ///< filled by the stream
        std::shared_ptr<StorageTier> tier;
        CopyStream::Ticket ticket = 0; ///< of the last copy
        std::uint64_t bytes = 0;       ///< counted, also while it is elsewhere
        bool isThere = false;
    };

    [[nodiscard]] base::Result<void> await(CopyStream::Ticket ticket);
    [[nodiscard]] base::Result<void> arrive(Slot& slot);
    void release(Slot& slot);

    std::vector<Slot> m_slots;
    CopyStream& m_stream;
    std::uint64_t m_bytes = 0;
    std::uint64_t m_moved = 0;
    double m_waited = 0;
};

} // namespace retro::runtime
