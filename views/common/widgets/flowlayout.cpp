// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/flowlayout.h"

#include <algorithm>

namespace retro::views
{

FlowLayout::FlowLayout(int gap, int rowGap, QWidget* parent) : QLayout(parent), m_gap(gap), m_rowGap(rowGap)
{
    setContentsMargins(0, 0, 0, 0);
}

FlowLayout::~FlowLayout() = default;

QLayoutItem* FlowLayout::itemAt(int index) const
{
    return index >= 0 && index < count() ? m_items[static_cast<std::size_t>(index)].get() : nullptr;
}

QLayoutItem* FlowLayout::takeAt(int index)
{
    if (itemAt(index) == nullptr) {
        return nullptr;
    }
    const auto at = m_items.begin() + index;
    QLayoutItem* item = at->release();
    m_items.erase(at);
    return item;
}

std::vector<FlowLayout::Place> FlowLayout::placesIn(const QRect& room) const
{
    std::vector<Place> places;
    std::size_t rowStart = 0;
    int rowHeight = 0;
    QPoint at = room.topLeft();
    const auto endRow = [&] {
        for (; rowStart < places.size(); ++rowStart) {
            QRect& box = places[rowStart].box;
            box.translate(0, (rowHeight - box.height()) / 2);
        }
    };
    for (const auto& item : m_items) {
        if (item->isEmpty()) {
            continue; // hidden
        }
        const QSize size(std::min(item->sizeHint().width(), std::max(1, room.width())), item->sizeHint().height());
        if (rowStart < places.size() && at.x() + size.width() > room.left() + room.width()) {
            endRow();
            at = {room.left(), at.y() + rowHeight + m_rowGap};
            rowHeight = 0;
        }
        places.push_back({item.get(), QRect(at, size)});
        rowHeight = std::max(rowHeight, size.height());
        at.rx() += size.width() + m_gap;
    }
    endRow();
    return places;
}

int FlowLayout::heightForWidth(int width) const
{
    const QMargins margins = contentsMargins();
    int height = 0;
    for (const Place& place : placesIn(QRect(0, 0, width - margins.left() - margins.right(), 0))) {
        height = std::max(height, place.box.y() + place.box.height());
    }
    return height + margins.top() + margins.bottom();
}

QSize FlowLayout::sizeHint() const
{
    QSize size(-m_gap, 0);
    for (const auto& item : m_items) {
        if (!item->isEmpty()) {
            size = {size.width() + item->sizeHint().width() + m_gap,
                    std::max(size.height(), item->sizeHint().height())};
        }
    }
    return size.expandedTo({0, 0}).grownBy(contentsMargins());
}

QSize FlowLayout::minimumSize() const
{
    QSize size;
    for (const auto& item : m_items) {
        if (!item->isEmpty()) {
            size = size.expandedTo(item->minimumSize());
        }
    }
    return size.expandedTo({0, 0}).grownBy(contentsMargins());
}

void FlowLayout::setGeometry(const QRect& room)
{
    QLayout::setGeometry(room);
    for (const Place& place : placesIn(contentsRect())) {
        place.item->setGeometry(place.box);
    }
}

} // namespace retro::views

#include "moc_flowlayout.cpp"
