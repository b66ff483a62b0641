// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/theme.h"

#include <QApplication>
#include <QEvent>
#include <QStyle>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

struct Row
{
    const char* name;
    QRgb light;
    QRgb dark;
};

// One row per Role, in its order.
constexpr std::array<Row, kRoleCount> kTable{{
    {"window", 0xECEEF1, 0x2B2D31},      {"base", 0xFFFFFF, 0x1E1F22},        {"alt", 0xF6F7F9, 0x232529},
    {"header", 0xF3F4F6, 0x27292D},      {"group", 0xF5F6F8, 0x25272B},       {"line", 0xD3D7DD, 0x3B3F45},
    {"grid", 0xE7EAEE, 0x2C2F33},        {"strong", 0x868F99, 0x7B828C},      {"text", 0x1B1E23, 0xE7E9EC},
    {"text2", 0x474E58, 0xBCC2CA},       {"text3", 0x5C6470, 0x9FA6B0},       {"ink", 0x2A2F36, 0xD5D9DE},
    {"ghost", 0xA3ABB5, 0x6C737D},       {"accent", 0x0F766E, 0x56C2B5},      {"on accent", 0xFFFFFF, 0x10201E},
    {"sel", 0xD5ECE9, 0x1C3E3B},         {"button", 0xFAFBFC, 0x34373C},      {"button line", 0xB9BFC8, 0x4D5259},
    {"keep", 0xB9D3EC, 0x2A4F7C},        {"normal line", 0x868F99, 0xC3C8CE}, {"normal tint", 0xEEF0F2, 0x303338},
    {"normal text", 0x59616B, 0xC3C8CE}, {"search line", 0xBF6A00, 0xF59E0B}, {"search tint", 0xFBEFDF, 0x3A2C14},
    {"search text", 0x8F4F00, 0xF7B548}, {"fulfil line", 0x004F9E, 0x3D8BFD}, {"fulfil tint", 0xDFEAF6, 0x18304F},
    {"fulfil text", 0x004F9E, 0x7FB2FF}, {"alarm line", 0x9C1C4B, 0xCC3C60},  {"alarm tint", 0xF7E3EA, 0x43202B},
    {"alarm text", 0x9C1C4B, 0xF0829C},
}};

double linearOf(int channel)
{
    const double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& c)
{
    return 0.2126 * linearOf(c.red()) + 0.7152 * linearOf(c.green()) + 0.0722 * linearOf(c.blue());
}

ThemeKind kindOfDesktop()
{
    const QPalette palette = QApplication::style() ? QApplication::style()->standardPalette() : QPalette();
    const bool isDark = palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
    return isDark ? ThemeKind::Dark : ThemeKind::Light;
}

} // namespace

const char* nameOf(Role role) { return kTable[static_cast<std::size_t>(role)].name; }

Theme::Theme(ThemeKind kind) : m_kind(kind)
{
    for (std::size_t i = 0; i < kRoleCount; ++i) {
        m_colors[i] = QColor::fromRgb(kind == ThemeKind::Dark ? kTable[i].dark : kTable[i].light);
    }
}

const Theme& Theme::of(ThemeKind kind)
{
    static const Theme light(ThemeKind::Light);
    static const Theme dark(ThemeKind::Dark);
    return kind == ThemeKind::Dark ? dark : light;
}

ModeColors Theme::mode(event::Mode mode) const
{
    switch (mode) {
    case event::Mode::Normal:
        return {color(Role::NormalLine), color(Role::NormalTint), color(Role::NormalText)};
    case event::Mode::Search:
        return {color(Role::SearchLine), color(Role::SearchTint), color(Role::SearchText)};
    case event::Mode::Fulfilment:
        return {color(Role::FulfilLine), color(Role::FulfilTint), color(Role::FulfilText)};
    case event::Mode::None:
        break;
    }
    return {color(Role::Ghost), color(Role::Base), color(Role::Text3)};
}

ModeColors Theme::alarm() const { return {color(Role::AlarmLine), color(Role::AlarmTint), color(Role::AlarmText)}; }

QPalette Theme::makePalette() const
{
    QPalette p;
    const auto set = [&](QPalette::ColorRole target, Role role) { p.setColor(target, color(role)); };
    set(QPalette::Window, Role::Window);
    set(QPalette::WindowText, Role::Text);
    set(QPalette::Base, Role::Base);
    set(QPalette::AlternateBase, Role::Alt);
    set(QPalette::Text, Role::Text);
    set(QPalette::PlaceholderText, Role::Text3);
    set(QPalette::Button, Role::Button);
    set(QPalette::ButtonText, Role::Text);
    set(QPalette::BrightText, Role::AlarmText);
    set(QPalette::Highlight, Role::Sel);
    set(QPalette::HighlightedText, Role::Text);
    set(QPalette::ToolTipBase, Role::Base);
    set(QPalette::ToolTipText, Role::Text);
    set(QPalette::Link, Role::Accent);
    set(QPalette::LinkVisited, Role::Accent);
    set(QPalette::Mid, Role::Line);
    set(QPalette::Midlight, Role::Grid);
    set(QPalette::Light, Role::Header);
    set(QPalette::Dark, Role::Strong);
    set(QPalette::Shadow, Role::Strong);
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        p.setColor(QPalette::Disabled, role, color(Role::Ghost));
    }
    p.setColor(QPalette::Disabled, QPalette::HighlightedText, color(Role::Ghost));
    return p;
}

double contrastRatio(const QColor& a, const QColor& b)
{
    const double la = luminance(a);
    const double lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

ThemeHub& ThemeHub::instance()
{
    // Owned by the application, so that it dies before Qt does.
    static ThemeHub* const hub = [] {
        auto* made = new ThemeHub; // NOLINT: parented below when there is an application
        made->setParent(QCoreApplication::instance());
        return made;
    }();
    return *hub;
}

ThemeHub::ThemeHub()
{
    if (auto* app = QCoreApplication::instance()) {
        app->installEventFilter(this);
    }
}

void ThemeHub::setChoice(ThemeChoice choice)
{
    m_choice = choice;
    switch (choice) {
    case ThemeChoice::Light:
        return applyKind(ThemeKind::Light);
    case ThemeChoice::Dark:
        return applyKind(ThemeKind::Dark);
    case ThemeChoice::System:
        return applyKind(kindOfDesktop());
    }
}

void ThemeHub::applyKind(ThemeKind kind)
{
    if (m_isApplied && kind == m_kind) {
        return;
    }
    m_kind = kind;
    m_isApplied = true;
    QApplication::setPalette(theme().makePalette());
    emit changed();
}

bool ThemeHub::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::ThemeChange && m_choice == ThemeChoice::System) {
        applyKind(kindOfDesktop());
    }
    return QObject::eventFilter(watched, event);
}

const Theme& theme(const QWidget* /*widget*/) { return ThemeHub::instance().theme(); }

} // namespace retro::views

#include "moc_theme.cpp"
