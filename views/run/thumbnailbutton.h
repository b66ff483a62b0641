// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractButton>
#include <QImage>

namespace retro::views
{

class Theme;

/// A small picture with a name under it; checked = the one on screen (accent frame).
class ThumbnailButton final : public QAbstractButton
{
    Q_OBJECT

public:
    explicit ThumbnailButton(QWidget* parent = nullptr);
    void setImage(const QImage& image);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;
    /// A square picture with a line of text under it.
    [[nodiscard]] int heightForWidth(int width) const override;
    [[nodiscard]] bool hasHeightForWidth() const override { return true; }

protected:
    /// A click asks for something; checked stays what is on screen.
    void nextCheckState() override;
    void paintEvent(QPaintEvent* event) override;

private:
    void paintPicture(QPainter& painter, const Theme& colors) const;

    QImage m_image;
};

} // namespace retro::views
