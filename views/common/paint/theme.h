// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"

#include <QColor>
#include <QObject>
#include <QPalette>

#include <array>
#include <cstddef>

class QWidget;

namespace retro::views
{

/// What a colour is used for. Paint code names roles, never literals.
enum class Role : std::uint8_t {
    Window,     ///< menu, tool and status bar, gaps between docks
    Base,       ///< every view and canvas
    Alt,        ///< every second row, empty tracks
    Header,     ///< dock titles, table headers
    Group,      ///< open group in the graph
    Line,       ///< hairlines
    Grid,       ///< chart grid
    Strong,     ///< axes, frames of controls and idle boxes
    Text,       ///< content
    Text2,      ///< labels
    Text3,      ///< axis figures, shapes
    Ink,        ///< done, computed, relevance edges
    Ghost,      ///< not yet, previous; never text
    Accent,     ///< cursor, active workspace, Run, main value of a bar
    OnAccent,   ///< text on the accent
    Sel,        ///< selected row
    Button,     ///< buttons, combos
    ButtonLine, ///< their outline
    Keep,       ///< bytes that are held
    NormalLine,
    NormalTint,
    NormalText,
    SearchLine,
    SearchTint,
    SearchText,
    FulfilLine,
    FulfilTint,
    FulfilText,
    AlarmLine,
    AlarmTint,
    AlarmText,
};
inline constexpr std::size_t kRoleCount = static_cast<std::size_t>(Role::AlarmText) + 1;

/// Name of a role for messages: "text2".
[[nodiscard]] const char* nameOf(Role role);

enum class ThemeKind : std::uint8_t { Light, Dark };
enum class ThemeChoice : std::uint8_t { System, Light, Dark };

/// Colours of a traversal mode.
struct ModeColors
{
    QColor line;
    QColor tint;
    QColor text;
};

/// The table role → colour of one theme. Immutable.
class Theme
{
public:
    explicit Theme(ThemeKind kind);
    /// The two themes that exist.
    [[nodiscard]] static const Theme& of(ThemeKind kind);

    [[nodiscard]] ThemeKind kind() const { return m_kind; }
    [[nodiscard]] bool isDark() const { return m_kind == ThemeKind::Dark; }
    [[nodiscard]] const QColor& color(Role role) const { return m_colors[static_cast<std::size_t>(role)]; }
    [[nodiscard]] const QColor& operator[](Role role) const { return color(role); }
    /// Colours of a mode; Mode::None has those of an idle box (ghost line, base, text3).
    [[nodiscard]] ModeColors mode(event::Mode mode) const;
    [[nodiscard]] ModeColors alarm() const;
    /// The palette that the application gets for this theme.
    [[nodiscard]] QPalette makePalette() const;

private:
    ThemeKind m_kind;
    std::array<QColor, kRoleCount> m_colors;
};

/// Contrast of two opaque colours, 1 to 21 (WCAG 2 relative luminance).
[[nodiscard]] double contrastRatio(const QColor& a, const QColor& b);

/// The one place that knows which theme is on. GUI thread; lives as long as the application.
class ThemeHub final : public QObject
{
    Q_OBJECT

public:
    static ThemeHub& instance();

    [[nodiscard]] const Theme& theme() const { return Theme::of(m_kind); }
    [[nodiscard]] ThemeChoice choice() const { return m_choice; }
    /// Switches the theme: sets the application's palette, then emits changed(). System follows the desktop.
    void setChoice(ThemeChoice choice);

signals:
    /// The colours are other ones now; widgets repaint by their palette change, caches of pictures listen here.
    void changed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    ThemeHub();
    void applyKind(ThemeKind kind);
    ThemeChoice m_choice = ThemeChoice::System;
    ThemeKind m_kind = ThemeKind::Light;
    bool m_isApplied = false;
};

/// The theme that `widget` is drawn with.
[[nodiscard]] const Theme& theme(const QWidget* widget = nullptr);

} // namespace retro::views
