// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

class QSettings;
class QWidget;

namespace retro::views
{
class ActionRegistry;
}

namespace retro::app
{

class CallOut;
class Preferences;

/// Says once, when the engine is first looked at, that Shift is the same thing backwards (gui.md 3.6): whose hands know
/// Visual Studio expects Shift+F11 to step out, and may take its keys with one click. GUI thread.
class KeysTip final : public QObject
{
    Q_OBJECT

public:
    /// Points at `target`, a bar of `window`: the one at the bottom leaves graph and heatmap free. `store` remembers
    /// that it was read; it must outlive this.
    KeysTip(QWidget& window, QWidget& target, const views::ActionRegistry& actions, Preferences& preferences,
            QSettings& store);

    /// Shows the tip unless it was read, here or at an earlier start.
    void offerOnce();
    /// Takes it from the screen; it comes again another time unless a button was pressed.
    void hide();
    [[nodiscard]] CallOut& callOut() const { return *m_callOut; }

    /// Escape takes the tip away, wherever the keyboard is in the window.
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void end(bool takesOtherKeys);
    /// The keys of an action as they are now; "no key" when it has none.
    [[nodiscard]] QString keyOf(const char* action) const;
    /// True while the keys are as they were made.
    [[nodiscard]] bool hasFirstKeys() const;

    QWidget& m_window;
    QWidget& m_target;
    const views::ActionRegistry& m_actions;
    Preferences& m_preferences;
    QSettings& m_store;
    CallOut* m_callOut = nullptr;
};

} // namespace retro::app
