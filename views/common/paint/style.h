// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QProxyStyle>

class QApplication;
class QStyleOptionSlider;
class QStyleOptionTab;
class QTabBar;

namespace retro::views
{

/// Fusion with our frames, arrows, tab line, headers and sizes. A button with the dynamic property "filled" set to true
/// is drawn on the accent (one per window: Run, and the active workspace). A checked tool button with the property
/// "segment" gets the selection colour and shares its edges with its neighbours. A row of tabs with the property
/// "tight" has less room beside its names. The wheel turns a slider, a spin box or a combo box only when it has the
/// keyboard: who scrolls past one changes nothing.
class Style final : public QProxyStyle
{
    Q_OBJECT

public:
    Style();

    /// Sets style, fonts at `fontScale`, window icon and theme of the application.
    static void install(QApplication& app, double fontScale = 1.0);

    void polish(QWidget* widget) override;
    void unpolish(QWidget* widget) override;
    using QProxyStyle::polish;
    using QProxyStyle::unpolish;
    bool eventFilter(QObject* watched, QEvent* event) override;
    [[nodiscard]] int pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const override;
    [[nodiscard]] int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                                QStyleHintReturn* returned) const override;
    [[nodiscard]] QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                                         const QWidget* widget) const override;
    [[nodiscard]] QRect subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                                       const QWidget* widget) const override;
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override;
    void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
    void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                            const QWidget* widget) const override;

private:
    void drawSlider(const QStyleOptionSlider& option, QPainter& painter, const QWidget* widget) const;
};

/// Marks a button as the filled one (see Style).
void setFilled(QWidget& button, bool isFilled);
/// Gives the names of a row of tabs at most `room` pixels: what lies beside them becomes narrower before a name is cut.
void fitTabs(QTabBar& tabs, int room);

} // namespace retro::views
