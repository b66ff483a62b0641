// SPDX-License-Identifier: Apache-2.0
#include "core/ops/lut/lutbuffers.h"

#include "kernels/lut/events.h"
#include "kernels/lut/layer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::ops
{

namespace
{

thread_local LaunchWatcher* threadWatcher = nullptr;

} // namespace

LaunchScope::LaunchScope(LaunchWatcher* watcher) : m_before(threadWatcher) { threadWatcher = watcher; }

LaunchScope::~LaunchScope() { threadWatcher = m_before; }

LaunchWatcher* currentLaunchWatcher() { return threadWatcher; }

using tensor::DType;
using tensor::Shape;

namespace
{

Shape shapeOfBuffer(const lut::Buffer& buffer, std::uint64_t count)
{
    Shape shape;
    std::uint64_t product = 1;
    for (const std::uint64_t extent : buffer.shape) {
        shape.push_back(static_cast<std::int64_t>(extent));
        product *= extent;
    }
    return product == count ? shape : Shape{static_cast<std::int64_t>(count)};
}

void takeFigure(TableBuffer& buffer, double value, bool& isFirst)
{
    buffer.nonZeros += value != 0 ? 1 : 0;
    if (std::isnan(value)) {
        return;
    }
    buffer.least = isFirst ? value : std::min(buffer.least, value);
    buffer.most = isFirst ? value : std::max(buffer.most, value);
    isFirst = false;
}

/// Numbers of type N, shown as tensors of type As.
template <class N, class As>
void takeNumbers(TableBuffer& buffer, const lut::Buffer& declared, const lut::BufferData& data)
{
    const std::span<const N> numbers(static_cast<const N*>(data.data), data.count);
    bool isFirst = true;
    for (const N number : numbers) {
        takeFigure(buffer, static_cast<double>(number), isFirst);
    }
    if (data.count * sizeof(As) <= kMostBufferBytes) {
        buffer.values =
            Tensor::of<As>(shapeOfBuffer(declared, data.count), std::vector<As>(numbers.begin(), numbers.end()));
    }
}

/// Records of type E, `columns` numbers each.
template <class E, class F>
void takeRecords(TableBuffer& buffer, const lut::BufferData& data, std::size_t columns, const F& numbersOf)
{
    const std::span<const E> records(static_cast<const E*>(data.data), data.count);
    std::vector<double> table;
    bool isFirst = true;
    const bool isShown = data.count * columns * sizeof(double) <= kMostBufferBytes;
    for (const E& record : records) {
        const std::array<double, 4> numbers = numbersOf(record);
        takeFigure(buffer, numbers[columns - 1], isFirst);
        if (isShown) {
            table.insert(table.end(), numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(columns));
        }
    }
    if (isShown) {
        buffer.values =
            Tensor::of<double>(Shape{static_cast<std::int64_t>(data.count), static_cast<std::int64_t>(columns)}, table);
    }
}

void takeEvents(TableBuffer& buffer, const lut::BufferData& data)
{
    if (data.id == lut::BufferId::FiringEvents) {
        takeRecords<lut::FiringEvent>(buffer, data, 3, [](const lut::FiringEvent& event) {
            return std::array<double, 4>{static_cast<double>(event.batch), static_cast<double>(event.group),
                                         static_cast<double>(event.payload), 0};
        });
        return;
    }
    takeRecords<lut::MainEvent>(buffer, data, 4, [](const lut::MainEvent& event) {
        return std::array<double, 4>{static_cast<double>(event.batch), static_cast<double>(event.position),
                                     static_cast<double>(event.neuron), static_cast<double>(event.count)};
    });
}

template <class T>
void takeValues(TableBuffer& buffer, const lut::Buffer& declared, const lut::BufferData& data)
{
    switch (declared.element) {
    case lut::Element::Real:
    case lut::Element::Float16: // the layer that runs has them widened
    case lut::Element::BFloat16:
        return takeNumbers<T, T>(buffer, declared, data);
    case lut::Element::Int32:
        return takeNumbers<std::int32_t, std::int32_t>(buffer, declared, data);
    case lut::Element::UInt32:
        return takeNumbers<std::uint32_t, std::int64_t>(buffer, declared, data);
    case lut::Element::UInt64:
        return takeNumbers<std::uint64_t, std::int64_t>(buffer, declared, data);
    case lut::Element::AnchorPair:
        return takeRecords<lut::Anchor>(buffer, data, 2, [](const lut::Anchor& anchor) {
            const bool isUsed = anchor.a != lut::kUnusedAnchor;
            return std::array<double, 4>{isUsed ? static_cast<double>(anchor.a) : -1.0,
                                         isUsed ? static_cast<double>(anchor.b) : -1.0, 0, 0};
        });
    case lut::Element::Event:
        return takeEvents(buffer, data);
    }
}

bool isAmong(const std::vector<lut::BufferId>& ids, lut::BufferId id)
{
    return std::ranges::find(ids, id) != ids.end();
}

} // namespace

std::vector<std::string> columnsOf(lut::BufferId id)
{
    switch (id) {
    case lut::BufferId::Anchors:
        return {"first", "second"};
    case lut::BufferId::FiringEvents:
        return {"sample", "group", "payload"};
    case lut::BufferId::MainFiringEvents:
    case lut::BufferId::AlternativeFiringEvents:
        return {"sample", "position", "row", "count"};
    default:
        return {};
    }
}

template <class T>
void LaunchTaker<T>::know(lut::BufferId id, const Tensor& operand)
{
    if (operand.isValid()) {
        m_operands[id] = operand;
    }
}

template <class T>
void LaunchTaker<T>::take(const lut::LaunchView<T>& view, std::optional<double> seconds, bool mayBeIdle)
{
    const lut::Launch& launch = view.schedule.launches[view.launch];
    LaunchRecord record{view.schedule.pass, view.launch, launch.kernel, launch.stream, m_backend, seconds, {}};
    bool hasWritten = false;
    for (const lut::BufferData& data : view.buffers) {
        const bool isRead = isAmong(launch.reads, data.id);
        const bool isWritten = isAmong(launch.writes, data.id);
        const lut::Buffer* declared = view.schedule.find(data.id);
        if (declared == nullptr || (!isRead && !isWritten)) {
            continue;
        }
        hasWritten = hasWritten || isWritten;
        if (isWritten || !m_known.contains(data.id)) {
            TableBuffer buffer;
            buffer.id = data.id;
            buffer.count = data.count;
            const auto operand = m_operands.find(data.id);
            if (operand == m_operands.end()) {
                takeValues<T>(buffer, *declared, data);
            } else if (data.count * sizeof(T) <= kMostBufferBytes) {
                buffer.values = operand->second;
            }
            m_known[data.id] = std::move(buffer);
        }
        record.buffers.push_back(m_known[data.id]);
        record.buffers.back().isRead = isRead;
        record.buffers.back().isWritten = isWritten;
    }
    if (hasWritten || !mayBeIdle) {
        std::ranges::stable_sort(record.buffers, {},
                                 [&](const TableBuffer& one) { return view.schedule.find(one.id); });
        m_to.onLaunch(std::move(record));
    }
}

template class LaunchTaker<float>;
template class LaunchTaker<double>;

void takeFigures(TableBuffer& buffer)
{
    if (!buffer.values.isValid()) {
        return;
    }
    const std::size_t columns = std::max<std::size_t>(columnsOf(buffer.id).size(), 1);
    buffer.count = static_cast<std::uint64_t>(buffer.values.size()) / columns;
    buffer.nonZeros = 0;
    bool isFirst = true;
    for (std::int64_t i = static_cast<std::int64_t>(columns) - 1; i < buffer.values.size();
         i += static_cast<std::int64_t>(columns)) {
        takeFigure(buffer, buffer.values.at(i), isFirst);
    }
}

template <class T>
std::vector<TableBuffer> tableBuffers(const lut::LaunchView<T>& view)
{
    const lut::Launch& launch = view.schedule.launches[view.launch];
    std::vector<TableBuffer> all;
    for (const lut::BufferData& data : view.buffers) {
        if (const lut::Buffer* declared = view.schedule.find(data.id)) {
            TableBuffer buffer;
            buffer.id = data.id;
            buffer.isRead = isAmong(launch.reads, data.id);
            buffer.isWritten = isAmong(launch.writes, data.id);
            buffer.count = data.count;
            takeValues<T>(buffer, *declared, data);
            all.push_back(std::move(buffer));
        }
    }
    // As the schedule lists them.
    std::ranges::stable_sort(all, {}, [&](const TableBuffer& one) { return view.schedule.find(one.id); });
    return all;
}

template std::vector<TableBuffer> tableBuffers(const lut::LaunchView<float>&);
template std::vector<TableBuffer> tableBuffers(const lut::LaunchView<double>&);

} // namespace retro::ops
