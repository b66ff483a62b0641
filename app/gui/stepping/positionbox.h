// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QLabel;
class QLineEdit;

namespace retro::app
{

/// Where something is, as a field that a place is typed into, and behind it how many places there are: "12 / 34". Whose
/// places they are says what both hold. GUI thread.
class PositionBox final : public QWidget
{
    Q_OBJECT

public:
    /// `name` is what a screen reader says of the field.
    PositionBox(const QString& name, const QString& tip, QWidget* parent);

    [[nodiscard]] QLineEdit& field() const { return *m_field; }
    [[nodiscard]] QLabel& count() const { return *m_count; }

private:
    QLineEdit* m_field = nullptr;
    QLabel* m_count = nullptr;
};

} // namespace retro::app
