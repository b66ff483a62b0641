// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/sink.h"
#include "core/ops/launchwatch.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace retro::engine
{

/// Kernels that ran for table lookups and that nobody was told of yet, with their nodes.
class LaunchBook final : public ops::LaunchWatcher
{
public:
    struct Entry
    {
        base::NodeId node;
        ops::LaunchRecord record;
    };
    /// Of the node that this thread computes (event::NodeWatch).
    void onLaunch(ops::LaunchRecord record) override;
    [[nodiscard]] bool isEmpty() const { return m_entries.empty(); }
    /// Moves them out, in the order in which they ran.
    [[nodiscard]] std::vector<Entry> take() { return std::exchange(m_entries, {}); }

private:
    std::vector<Entry> m_entries;
};

/// Passes on what happens. While it lives it takes the kernels that this thread launches, and tells them before the
/// event in the visit of which they ran: a Launch each, then a Buffer for each buffer that it read or wrote. Tensors of
/// buffers get handles of their own, so that other handles are numbered anew. Borrows both.
class LaunchSink final : public event::Sink
{
public:
    LaunchSink(event::Sink& next, LaunchBook& book) : m_next(next), m_book(book), m_scope(&book) {}

    void onEvent(const event::Event& event) override;
    void onLedger(const event::LedgerEntry& entry) override { m_next.onLedger(entry); }
    void onTensor(base::HandleId handle, const tensor::Tensor& tensor) override;
    /// Tells those that are in the book, in this visit.
    void tell(std::uint32_t visit, event::Mode mode);

private:
    [[nodiscard]] base::HandleId handleOf(const tensor::Tensor& tensor);
    void reportLaunch(const LaunchBook::Entry& entry, const event::Event& at);

    event::Sink& m_next;
    LaunchBook& m_book;
    ops::LaunchScope m_scope;
    std::uint32_t m_handles = 0;           ///< that were given away
    std::vector<std::uint32_t> m_numberOf; ///< by the handle that came
    struct Told
    {
        std::weak_ptr<const tensor::Storage> storage; ///< gone: another one has its address
        base::HandleId handle;
    };
    std::map<const tensor::Storage*, Told> m_told; ///< by the storage of a buffer
};

} // namespace retro::engine
