// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLoggingCategory>
#include <QMutex>
#include <QObject>

namespace retro::app
{

/// Of the window and its jobs; the categories of core have the other names of core/base/log.h.
Q_DECLARE_LOGGING_CATEGORY(windowLog)

/// Folder for what a program keeps of its own doings: $XDG_STATE_HOME/retrograde, without it ~/.local/state/retrograde.
[[nodiscard]] QString stateFolder();

/// The log of the program, a text file of bounded size: when it is full it is kept as retrograde.log.1, in place of the
/// one before, and a new one begins. Several windows may write to the same file. Any thread.
class LogFile final : public QObject
{
    Q_OBJECT

public:
    /// Largest file in bytes; on disk there are at most two of them.
    static constexpr qint64 kMostBytes = 1 << 20;

    /// Nothing is written before the first line.
    explicit LogFile(const QString& folder, qint64 mostBytes = kMostBytes);
    /// Gives messages back to who took them before.
    ~LogFile() override;

    /// Takes the messages of Qt and the lines of core from now on. Those of our categories go to the file alone, which
    /// QT_LOGGING_RULES can switch off as usual; all others also to who took them before. One log does so at a time.
    void takeMessages();
    /// The log that takes messages; null when none does.
    [[nodiscard]] static LogFile* instance();

    [[nodiscard]] QString path() const { return m_path; }
    /// What both files hold, the older one first.
    [[nodiscard]] QString text() const;
    /// Adds a line with the present time. A file that cannot be written is no error of what is logged: the line is
    /// lost.
    void write(QtMsgType type, const QString& category, const QString& text);

signals:
    /// From the thread that wrote.
    void written(const QString& line);

private:
    static void handle(QtMsgType type, const QMessageLogContext& context, const QString& text);

    QString m_path;
    qint64 m_mostBytes;
    QMutex m_mutex;
    QtMessageHandler m_before = nullptr;
};

} // namespace retro::app
