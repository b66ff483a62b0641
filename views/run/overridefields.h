// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>
#include <QWidget>

class QListWidget;
class QToolButton;

namespace retro::views
{

/// The rules that stand before those of the composite, as on the command line. They come from graph and inspector; here
/// they are seen and taken back. Without any it is not on screen. GUI thread.
class OverrideFields final : public QWidget
{
    Q_OBJECT

public:
    explicit OverrideFields(QWidget* parent = nullptr);

    /// Other rules, without saying changed().
    void setOverrides(const QStringList& overrides);
    [[nodiscard]] const QStringList& overrides() const { return m_overrides; }

signals:
    /// The person took one or all of them back.
    void changed();

private:
    void removeChosen();
    void reset();
    void showState();

    QStringList m_overrides;
    QListWidget* m_list = nullptr;
    QToolButton* m_remove = nullptr;
    QToolButton* m_reset = nullptr;
};

} // namespace retro::views
