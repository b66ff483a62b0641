// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/style.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/motion.h"
#include "views/common/paint/stylepaint.h"
#include "views/common/paint/theme.h"

#include <QAbstractSpinBox>
#include <QApplication>
#include <QComboBox>
#include <QEvent>
#include <QHeaderView>
#include <QLineEdit>
#include <QPainter>
#include <QScrollBar>
#include <QStyleFactory>
#include <QStyleOption>
#include <QTabBar>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr const char* kTight = "tight";

bool isTight(const QWidget* tabs) { return tabs != nullptr && tabs->property(kTight).toBool(); }

/// What lies beside the name of a tab, both sides together.
int tabSpace(bool isTight) { return fonts::px(isTight ? 14 : 28); }

/// It has the keyboard, and got it by a key: a click shows where it went by itself.
bool hasFocusByKeys(const QStyleOption& option)
{
    constexpr QStyle::State kByKeys =
        QStyle::State_HasFocus | QStyle::State_KeyboardFocusChange | QStyle::State_Enabled;
    return (option.state & kByKeys) == kByKeys;
}

/// By how much a name is wider when it is bold, as that of the tab in front is.
int boldExtra(const QString& name, const QFontMetrics& plain)
{
    const double extra = fonts::widthOf(fonts::label(QFont::DemiBold), name) - plain.horizontalAdvance(name);
    return std::max(0, static_cast<int>(std::ceil(extra)));
}

/// Turned by the wheel, and may stand in something that the wheel scrolls.
bool isTurnedByWheel(const QObject& widget)
{
    return qobject_cast<const QComboBox*>(&widget) != nullptr ||
           qobject_cast<const QAbstractSpinBox*>(&widget) != nullptr ||
           (qobject_cast<const QAbstractSlider*>(&widget) != nullptr &&
            qobject_cast<const QScrollBar*>(&widget) == nullptr);
}

} // namespace

Style::Style() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

void Style::install(QApplication& app, double fontScale)
{
    app.setStyle(new Style); // the application owns it
    fonts::install(fontScale);
    ThemeHub::instance().setChoice(ThemeHub::instance().choice());
    QApplication::setWindowIcon(icons::windowIcon());
}

void Style::polish(QWidget* widget)
{
    QProxyStyle::polish(widget);
    if (auto* header = qobject_cast<QHeaderView*>(widget)) {
        header->setFont(fonts::label(QFont::DemiBold));
        header->setHighlightSections(false);
    }
    auto* edit = qobject_cast<QLineEdit*>(widget);
    if (edit != nullptr && edit->parentWidget() != nullptr && !edit->parentWidget()->inherits("QAbstractSpinBox") &&
        !edit->parentWidget()->inherits("QComboBox")) {
        edit->setTextMargins(fonts::px(4), 0, fonts::px(4), 0);
    }
    if (isTurnedByWheel(*widget)) {
        if (widget->focusPolicy() == Qt::WheelFocus) {
            widget->setFocusPolicy(Qt::StrongFocus); // else the wheel itself would bring the keyboard there
        }
        widget->installEventFilter(this);
    }
}

void Style::unpolish(QWidget* widget)
{
    widget->removeEventFilter(this);
    QProxyStyle::unpolish(widget);
}

bool Style::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::Wheel && isTurnedByWheel(*watched)) {
        const auto& control = static_cast<const QWidget&>(*watched);
        const QWidget* focus = QApplication::focusWidget();
        if (focus != &control && (focus == nullptr || !control.isAncestorOf(focus))) {
            event->ignore(); // what lies around it scrolls
            return true;
        }
    }
    return QProxyStyle::eventFilter(watched, event);
}

int Style::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const
{
    switch (metric) {
    case PM_SplitterWidth:
    case PM_DockWidgetSeparatorExtent:
        return 4;
    case PM_DockWidgetFrameWidth:
    case PM_ToolBarFrameWidth:
        return 0;
    case PM_LayoutLeftMargin:
    case PM_LayoutTopMargin:
    case PM_LayoutRightMargin:
    case PM_LayoutBottomMargin:
        return fonts::px(QProxyStyle::pixelMetric(metric, option, widget));
    case PM_SmallIconSize:
    case PM_ToolBarIconSize:
    case PM_ButtonIconSize:
        return fonts::px(16);
    case PM_IndicatorWidth:
    case PM_IndicatorHeight:
        return fonts::px(14);
    case PM_TreeViewIndentation:
        return fonts::px(13);
    case PM_ScrollBarExtent:
        return fonts::px(11);
    case PM_ScrollBarSliderMin:
        return fonts::px(28);
    case PM_HeaderMargin:
        return fonts::px(6);
    case PM_FocusFrameHMargin:
        return fonts::px(5);
    case PM_ToolBarItemSpacing:
        return 2;
    case PM_ToolBarItemMargin:
        return 4;
    case PM_LayoutHorizontalSpacing:
    case PM_LayoutVerticalSpacing:
        return fonts::px(8);
    case PM_TabBarTabHSpace:
        return tabSpace(isTight(widget));
    case PM_SliderThickness:
    case PM_SliderLength:
        return fonts::px(14);
    case PM_ButtonShiftHorizontal:
    case PM_ButtonShiftVertical:
        return 0;
    default:
        return QProxyStyle::pixelMetric(metric, option, widget);
    }
}

int Style::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                     QStyleHintReturn* returned) const
{
    switch (hint) {
    case SH_EtchDisabledText:
    case SH_DitherDisabledText:
        return 0;
    case SH_Slider_AbsoluteSetButtons:
        return Qt::LeftButton;
    case SH_ItemView_ShowDecorationSelected:
    case SH_ScrollBar_LeftClickAbsolutePosition:
        return 1;
    case SH_TabBar_ElideMode:
        return Qt::ElideMiddle;
    case SH_Widget_Animation_Duration:
        return isMotionReduced() ? 0 : QProxyStyle::styleHint(hint, option, widget, returned);
    default:
        return QProxyStyle::styleHint(hint, option, widget, returned);
    }
}

QSize Style::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& size,
                              const QWidget* widget) const
{
    QSize made = QProxyStyle::sizeFromContents(type, option, size, widget);
    switch (type) {
    case CT_PushButton:
        made.rwidth() += fonts::px(12);
        made.setHeight(fonts::px(26));
        break;
    case CT_SpinBox:
        made.rwidth() += fonts::px(6); // the digits beside the arrows
        [[fallthrough]];
    case CT_ComboBox:
    case CT_LineEdit:
        made.setHeight(fonts::px(26));
        break;
    case CT_ToolButton:
        made.setHeight(std::max(made.height(), fonts::px(26)));
        made.setWidth(std::max(made.width(), fonts::px(28)));
        break;
    case CT_TabBarTab:
        made.setHeight(fonts::px(28));
        if (const auto* tab = qstyleoption_cast<const QStyleOptionTab*>(option)) {
            made.rwidth() += boldExtra(tab->text, option->fontMetrics);
        }
        break;
    case CT_HeaderSection:
        made.setHeight(fonts::px(24));
        break;
    case CT_MenuBarItem:
        made.setHeight(fonts::px(28));
        break;
    case CT_ItemViewItem:
        made.setHeight(std::max(made.height(), fonts::px(24)));
        break;
    default:
        break;
    }
    return made;
}

QRect Style::subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                            const QWidget* widget) const
{
    const auto* slider = qstyleoption_cast<const QStyleOptionSlider*>(option);
    if (control != CC_ScrollBar || slider == nullptr) {
        return QProxyStyle::subControlRect(control, option, part, widget);
    }
    return stylepaint::scrollBarPart(*slider, part, pixelMetric(PM_ScrollBarSliderMin, option, widget));
}

void Style::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                          const QWidget* widget) const
{
    switch (element) {
    case PE_PanelButtonCommand:
        stylepaint::button(*option, *painter, widget);
        if (hasFocusByKeys(*option)) { // Fusion has its own frame for it, which ours takes the place of
            QStyleOption inside = *option;
            inside.rect.adjust(2, 2, -2, -2);
            stylepaint::focusRing(inside, *painter, widget);
        }
        return;
    case PE_PanelButtonTool:
        return stylepaint::button(*option, *painter, widget);
    case PE_PanelLineEdit:
    case PE_FrameLineEdit:
        return stylepaint::field(*option, *painter);
    case PE_IndicatorCheckBox:
        return stylepaint::checkBox(*option, *painter);
    case PE_IndicatorBranch:
        return stylepaint::branch(*option, *painter);
    case PE_FrameFocusRect:
        return stylepaint::focusRing(*option, *painter, widget);
    case PE_Frame:
    case PE_FrameGroupBox:
        return stylepaint::frame(*option, *painter);
    case PE_IndicatorDockWidgetResizeHandle:
    case PE_FrameTabWidget:
    case PE_FrameDockWidget:
    case PE_FrameMenu:
        return stylepaint::flat(*option, *painter, element == PE_FrameMenu);
    case PE_FrameTabBarBase:
        return;
    default:
        return QProxyStyle::drawPrimitive(element, option, painter, widget);
    }
}

void Style::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                        const QWidget* widget) const
{
    switch (element) {
    case CE_TabBarTabShape:
        return stylepaint::tab(*option, *painter);
    case CE_TabBarTabLabel: {
        QStyleOptionTab tab = *qstyleoption_cast<const QStyleOptionTab*>(option);
        painter->save();
        if (tab.state.testFlag(State_Selected)) {
            painter->setFont(fonts::label(QFont::DemiBold));
        } else {
            tab.palette.setColor(QPalette::WindowText, theme(widget)[Role::Text2]);
        }
        tab.state.setFlag(State_HasFocus, false);
        QProxyStyle::drawControl(element, &tab, painter, widget);
        painter->restore();
        return;
    }
    case CE_ComboBoxLabel: {
        QStyleOptionComboBox box = *qstyleoption_cast<const QStyleOptionComboBox*>(option);
        const int room = proxy()->subControlRect(CC_ComboBox, &box, SC_ComboBoxEditField, widget).width() - 2;
        box.currentText = box.fontMetrics.elidedText(box.currentText, Qt::ElideMiddle, room);
        return QProxyStyle::drawControl(element, &box, painter, widget);
    }
    case CE_HeaderSection:
    case CE_HeaderEmptyArea:
        return stylepaint::headerSection(*option, *painter);
    case CE_Splitter:
    case CE_MenuBarEmptyArea:
    case CE_ToolBar:
        return stylepaint::flat(*option, *painter, false);
    case CE_MenuBarItem: {
        QStyleOptionMenuItem item = *qstyleoption_cast<const QStyleOptionMenuItem*>(option);
        stylepaint::menuBarItem(item, *painter);
        return;
    }
    case CE_PushButtonLabel: {
        QStyleOptionButton button = *qstyleoption_cast<const QStyleOptionButton*>(option);
        if (stylepaint::isFilled(widget) && button.state.testFlag(State_Enabled)) {
            button.palette.setColor(QPalette::ButtonText, theme(widget)[Role::OnAccent]);
        }
        return QProxyStyle::drawControl(element, &button, painter, widget);
    }
    case CE_ToolButtonLabel: {
        QStyleOptionToolButton button = *qstyleoption_cast<const QStyleOptionToolButton*>(option);
        if (stylepaint::isFilled(widget) && button.state.testFlag(State_On)) {
            button.palette.setColor(QPalette::ButtonText, theme(widget)[Role::OnAccent]);
        }
        button.state.setFlag(State_Sunken, false);
        return QProxyStyle::drawControl(element, &button, painter, widget);
    }
    case CE_ProgressBarGroove:
    case CE_ProgressBarContents:
        return stylepaint::progress(*option, *painter, element == CE_ProgressBarContents);
    case CE_ProgressBarLabel:
        return;
    default:
        return QProxyStyle::drawControl(element, option, painter, widget);
    }
}

void Style::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                               const QWidget* widget) const
{
    if (control == CC_ComboBox) {
        const auto* combo = qstyleoption_cast<const QStyleOptionComboBox*>(option);
        return stylepaint::comboBox(*combo, *painter);
    }
    const auto* spin = qstyleoption_cast<const QStyleOptionSpinBox*>(option);
    if (control == CC_SpinBox && spin != nullptr && spin->buttonSymbols != QAbstractSpinBox::NoButtons) {
        return stylepaint::spinBox(*spin, subControlRect(control, option, SC_SpinBoxUp, widget),
                                   subControlRect(control, option, SC_SpinBoxDown, widget), *painter);
    }
    if (control == CC_Slider) {
        const auto* slider = qstyleoption_cast<const QStyleOptionSlider*>(option);
        return drawSlider(*slider, *painter, widget);
    }
    if (control == CC_ScrollBar) {
        const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
        return stylepaint::scrollBar(*bar, subControlRect(control, option, SC_ScrollBarSlider, widget), *painter);
    }
    if (control == CC_ToolButton) {
        // The panel by ourselves (Fusion leaves it out for flat buttons that are not raised), the label by Fusion.
        const auto* button = qstyleoption_cast<const QStyleOptionToolButton*>(option);
        proxy()->drawPrimitive(PE_PanelButtonTool, button, painter, widget);
        QStyleOptionToolButton label = *button;
        label.rect = button->rect.adjusted(2, 2, -2, -2);
        proxy()->drawControl(CE_ToolButtonLabel, &label, painter, widget);
        if (hasFocusByKeys(*button)) {
            stylepaint::focusRing(label, *painter, widget);
        }
        return;
    }
    QProxyStyle::drawComplexControl(control, option, painter, widget);
}

void Style::drawSlider(const QStyleOptionSlider& option, QPainter& painter, const QWidget* widget) const
{
    const QRect groove = proxy()->subControlRect(CC_Slider, &option, SC_SliderGroove, widget);
    const QRect handle = proxy()->subControlRect(CC_Slider, &option, SC_SliderHandle, widget);
    stylepaint::slider(option, groove, handle, painter);
}

void setFilled(QWidget& button, bool isFilled)
{
    button.setProperty("filled", isFilled);
    button.update();
}

void fitTabs(QTabBar& tabs, int room)
{
    int wanted = 0;
    for (int i = 0; i < tabs.count(); ++i) {
        const QString name = tabs.tabText(i);
        wanted += tabs.fontMetrics().horizontalAdvance(name) + boldExtra(name, tabs.fontMetrics()) + tabSpace(false);
    }
    if (isTight(&tabs) != (wanted > room)) {
        tabs.setProperty(kTight, wanted > room);
        QEvent change(QEvent::StyleChange); // it measures its tabs again
        QApplication::sendEvent(&tabs, &change);
    }
}

} // namespace retro::views

#include "moc_style.cpp"
