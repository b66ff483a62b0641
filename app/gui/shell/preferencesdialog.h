// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

class QFormLayout;

namespace retro::views
{
class ActionRegistry;
}

namespace retro::app
{

class Preferences;

/// The settings in three pages: looks, keys, computing. Each takes effect as it is changed; there is nothing to
/// confirm. GUI thread.
class PreferencesDialog final : public QDialog
{
    Q_OBJECT

public:
    PreferencesDialog(views::ActionRegistry& actions, Preferences& preferences, QWidget* parent = nullptr);

private:
    [[nodiscard]] QWidget* makeLooks();
    [[nodiscard]] QWidget* makeComputing();
    void addTheme(QFormLayout& form);
    void addTextSize(QFormLayout& form);

    Preferences& m_preferences;
};

} // namespace retro::app
