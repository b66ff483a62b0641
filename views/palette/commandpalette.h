// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>
#include <QPointer>

#include "views/palette/palettemodel.h"

class QLabel;
class QLineEdit;
class QListView;

namespace retro::views
{

/// A field over the window that finds everything by name: actions, layers (@), steps (#), promises (!). Return does it,
/// Ctrl+Return also goes there in time, Escape or a click elsewhere closes it and gives the focus back. GUI thread;
/// child of the window.
class CommandPalette final : public QFrame
{
    Q_OBJECT

public:
    explicit CommandPalette(QWidget* window);

    void addSource(std::unique_ptr<PaletteSource> source);
    /// Shows it with `text` typed; `anchor` (in the window's coordinates) is what it unfolds from, empty = top centre.
    void open(const QString& text = {}, const QRect& anchor = {});
    /// Hides it; the focus goes back to where it was.
    void dismiss();
    [[nodiscard]] PaletteModel& model() { return m_model; }
    [[nodiscard]] QLineEdit& field() const { return *m_field; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void makeFoot();
    bool takeKey(int key, Qt::KeyboardModifiers modifiers);
    void search();
    void moveBy(int rows);
    void choose(bool isFar);
    void place();

    PaletteModel m_model;
    QLineEdit* m_field = nullptr;
    QListView* m_list = nullptr;
    QLabel* m_nothing = nullptr;
    QLabel* m_foot = nullptr;
    QPointer<QWidget> m_focusBefore;
    QRect m_anchor;
};

} // namespace retro::views
