// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QAction;
class QComboBox;
class QHBoxLayout;
class QLabel;
class QSlider;

namespace retro::views
{

/// What takes the place of covered pixels.
enum class CoverColor {
    Surroundings, ///< the colours around them
    Grey
};

/// The row of controls under the input while pixels are being covered: size of the brush, what is put there, and the
/// buttons of the actions that the window gives.
class CoverTools final : public QWidget
{
    Q_OBJECT

public:
    explicit CoverTools(QWidget* parent = nullptr);

    void addButtons(const QList<QAction*>& actions);
    void setBrushSize(int pixels, int widest);
    [[nodiscard]] CoverColor color() const;
    /// Narrower than its buttons ask for: their texts are cut before the dock is forced wider.
    [[nodiscard]] QSize minimumSizeHint() const override;

signals:
    void brushSizeChanged(int pixels);
    void colorChanged();

private:
    QSlider* m_size = nullptr;
    QLabel* m_sizeText = nullptr;
    QComboBox* m_color = nullptr;
    QHBoxLayout* m_buttons = nullptr;
};

} // namespace retro::views
