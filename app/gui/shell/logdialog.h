// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QDialog>

class QPlainTextEdit;

namespace retro::app
{

class LogFile;

/// The log in a small window that follows what is written. GUI thread.
class LogDialog final : public QDialog
{
    Q_OBJECT

public:
    /// `log` may be null: then there is none, and the window says so. It must outlive the window.
    explicit LogDialog(LogFile* log, QWidget* parent = nullptr);

    /// The lines that are shown.
    [[nodiscard]] QString text() const;
    /// Puts the selected text, or without one the whole log, on the clipboard.
    void copy() const;

private:
    void add(const QString& line);

    QPlainTextEdit* m_text = nullptr;
};

} // namespace retro::app
