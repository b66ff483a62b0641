// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <QString>
#include <QWidget>

namespace retro::views
{

/// Where picture and sentence lie. Plain geometry.
struct InputLayout
{
    QRectF picture;
    QRectF sentence;
    double pixel = 1; ///< a whole number where it fits
};
[[nodiscard]] InputLayout layoutInput(const QSize& picture, const QRectF& area, double sentenceHeight);

/// Paints a picture in square pixels and a sentence below it.
class InputPane final : public QWidget
{
    Q_OBJECT

public:
    explicit InputPane(QWidget* parent = nullptr);
    void setContent(const QImage& picture, const QString& sentence);
    [[nodiscard]] QSize sizeHint() const override { return {260, 300}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QImage m_picture;
    QString m_sentence;
};

} // namespace retro::views
