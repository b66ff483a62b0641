// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/launchsink.h"

#include "core/event/launchevent.h"
#include "core/event/observer.h"

namespace retro::engine
{

namespace
{

using event::Event;
using event::EventKind;

/// What comes before a visit, or lets values go that a step no longer needs.
bool isBetweenSteps(EventKind kind)
{
    return kind == EventKind::Visit || kind == EventKind::Pop || kind == EventKind::Dequeue || kind == EventKind::Free;
}

} // namespace

void LaunchBook::onLaunch(ops::LaunchRecord record)
{
    m_entries.push_back({event::NodeWatch::current(), std::move(record)});
}

void LaunchSink::onEvent(const Event& event)
{
    if (!m_book.isEmpty() && !isBetweenSteps(event.kind)) {
        tell(event.visit, event.mode);
    }
    Event numbered = event;
    const auto number = [this](std::uint32_t handle) {
        return handle < m_numberOf.size() ? m_numberOf[handle] : handle;
    };
    numbered.handle = number(event.handle);
    if (event.kind == EventKind::BranchRelevance && event.extra >= 0 && event.extra < base::HandleId::kInvalid) {
        numbered.extra = number(static_cast<std::uint32_t>(event.extra)); // the tensor before it
    }
    m_next.onEvent(numbered);
}

void LaunchSink::onTensor(base::HandleId handle, const tensor::Tensor& tensor)
{
    if (handle.index() >= m_numberOf.size()) {
        m_numberOf.resize(handle.index() + 1, base::HandleId::kInvalid);
    }
    std::uint32_t& number = m_numberOf[handle.index()];
    number = number == base::HandleId::kInvalid ? m_handles++ : number;
    m_next.onTensor(base::HandleId(number), tensor);
}

void LaunchSink::tell(std::uint32_t visit, event::Mode mode)
{
    Event at;
    at.visit = visit;
    at.mode = mode;
    for (const LaunchBook::Entry& entry : m_book.take()) {
        if (entry.node.isValid()) {
            reportLaunch(entry, at);
        }
    }
}

void LaunchSink::reportLaunch(const LaunchBook::Entry& entry, const Event& at)
{
    const ops::LaunchRecord& record = entry.record;
    Event launch = at;
    launch.kind = EventKind::Launch;
    launch.flag = record.backend == lut::Backend::Cuda ? event::kLaunchOnDevice : 0;
    launch.node = entry.node.value;
    launch.slot = static_cast<std::uint32_t>(record.place);
    launch.branch = static_cast<std::uint32_t>(record.pass);
    launch.branch2 = record.stream;
    launch.extra = event::packLaunch(static_cast<std::uint32_t>(record.kernel), record.seconds);
    m_next.onEvent(launch);
    for (const ops::TableBuffer& buffer : record.buffers) {
        Event told = launch;
        told.kind = EventKind::Buffer;
        told.flag = static_cast<std::uint8_t>((buffer.isRead ? event::kBufferRead : 0) |
                                              (buffer.isWritten ? event::kBufferWritten : 0));
        told.branch2 = static_cast<std::uint32_t>(buffer.id);
        told.handle = buffer.values.isValid() && buffer.values.size() > 0 ? handleOf(buffer.values).value
                                                                          : base::HandleId::kInvalid;
        told.extra = static_cast<std::int64_t>(buffer.count);
        m_next.onEvent(told);
    }
}

base::HandleId LaunchSink::handleOf(const tensor::Tensor& tensor)
{
    Told& told = m_told[tensor.storage().get()];
    if (told.storage.expired()) {
        told = {tensor.storage(), base::HandleId(m_handles++)};
        m_next.onTensor(told.handle, tensor);
    }
    return told.handle;
}

} // namespace retro::engine
