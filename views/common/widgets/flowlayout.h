// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLayout>

#include <memory>
#include <vector>

namespace retro::views
{

/// Widgets one after the other; what does not fit into a row begins the next. Its least width is that of its widest
/// widget. Rows are as high as their highest widget, which stands in the middle.
class FlowLayout final : public QLayout
{
    Q_OBJECT

public:
    /// Gaps between neighbours and between rows, in pixels.
    FlowLayout(int gap, int rowGap, QWidget* parent = nullptr);
    ~FlowLayout() override;

    void addItem(QLayoutItem* item) override { m_items.emplace_back(item); }
    [[nodiscard]] int count() const override { return static_cast<int>(m_items.size()); }
    [[nodiscard]] QLayoutItem* itemAt(int index) const override;
    QLayoutItem* takeAt(int index) override;
    [[nodiscard]] Qt::Orientations expandingDirections() const override { return {}; }
    [[nodiscard]] bool hasHeightForWidth() const override { return true; }
    [[nodiscard]] int heightForWidth(int width) const override;
    /// Everything in one row.
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSize() const override;
    void setGeometry(const QRect& room) override;

private:
    struct Place
    {
        QLayoutItem* item;
        QRect box;
    };
    [[nodiscard]] std::vector<Place> placesIn(const QRect& room) const;

    int m_gap;
    int m_rowGap;
    std::vector<std::unique_ptr<QLayoutItem>> m_items;
};

} // namespace retro::views
