// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>
#include <QWidget>

namespace retro::views
{

class ChosenList;

/// The rules that stand before those of the composite, as on the command line. They come from graph and inspector; here
/// they are seen and taken back. Without any it is not on screen. GUI thread.
class OverrideFields final : public QWidget
{
    Q_OBJECT

public:
    explicit OverrideFields(QWidget* parent = nullptr);

    /// Other rules, without saying changed().
    void setOverrides(const QStringList& overrides);
    [[nodiscard]] QStringList overrides() const;

signals:
    /// The person took one or all of them back.
    void changed();

private:
    ChosenList* m_list = nullptr;
};

} // namespace retro::views
