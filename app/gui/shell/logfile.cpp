// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/logfile.h"

#include "core/base/log.h"

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>

#include <array>
#include <atomic>

namespace retro::app
{

Q_LOGGING_CATEGORY(windowLog, "retrograde.window")

namespace
{

std::atomic<LogFile*> currentLog = nullptr;

/// A category of core as one of Qt.
const QLoggingCategory& qtCategory(std::string_view name)
{
    static const QLoggingCategory kModel("retrograde.model");
    static const QLoggingCategory kEngine("retrograde.engine");
    static const QLoggingCategory kFiles("retrograde.files");
    for (const QLoggingCategory* one : {&kModel, &kEngine, &kFiles}) {
        if (name == one->categoryName()) {
            return *one;
        }
    }
    return windowLog();
}

QtMsgType typeOf(base::LogLevel level)
{
    constexpr std::array kTypes{QtInfoMsg, QtWarningMsg, QtCriticalMsg};
    return kTypes[static_cast<std::size_t>(level)];
}

void passToQt(std::string_view category, base::LogLevel level, const std::string& text)
{
    const QLoggingCategory& qt = qtCategory(category);
    const QtMsgType type = typeOf(level);
    if (qt.isEnabled(type)) {
        const QMessageLogContext context(nullptr, 0, nullptr, qt.categoryName());
        qt_message_output(type, context, QString::fromStdString(text));
    }
}

QString wordOf(QtMsgType type)
{
    switch (type) {
    case QtDebugMsg:
        return QStringLiteral("debug");
    case QtInfoMsg:
        return QStringLiteral("info");
    case QtWarningMsg:
        return QStringLiteral("warning");
    default:
        return QStringLiteral("error");
    }
}

QString contentOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

} // namespace

QString stateFolder()
{
    const QString state = qEnvironmentVariable("XDG_STATE_HOME");
    const QString base = QDir::isAbsolutePath(state) ? state : QDir::homePath() + QStringLiteral("/.local/state");
    return base + QStringLiteral("/retrograde");
}

LogFile::LogFile(const QString& folder, qint64 mostBytes)
    : m_path(folder + QStringLiteral("/retrograde.log")), m_mostBytes(mostBytes)
{}

LogFile::~LogFile()
{
    LogFile* self = this;
    if (currentLog.compare_exchange_strong(self, nullptr)) {
        base::setLogSink({}); // waits for a line that is being written
        qInstallMessageHandler(m_before);
    }
}

void LogFile::takeMessages()
{
    currentLog = this;
    m_before = qInstallMessageHandler(&LogFile::handle);
    base::setLogSink(passToQt);
}

LogFile* LogFile::instance() { return currentLog; }

QString LogFile::text() const { return contentOf(m_path + QStringLiteral(".1")) + contentOf(m_path); }

void LogFile::write(QtMsgType type, const QString& category, const QString& text)
{
    const QString time = QDateTime::currentDateTime().toString(QStringLiteral("yyyy-MM-dd HH:mm:ss.zzz"));
    QString line = QStringLiteral("%1  %2  %3  %4").arg(time, wordOf(type).leftJustified(7), category, text);
    line.replace(QLatin1Char('\n'), QStringLiteral("\n    "));
    {
        const QMutexLocker lock(&m_mutex);
        QDir().mkpath(QFileInfo(m_path).path());
        const QByteArray bytes = line.toUtf8().left(m_mostBytes / 2) + '\n';
        if (QFileInfo(m_path).size() + bytes.size() > m_mostBytes) {
            QFile::remove(m_path + QStringLiteral(".1"));
            QFile::rename(m_path, m_path + QStringLiteral(".1"));
        }
        QFile file(m_path); // opened anew: another window may have begun a new one
        if (file.open(QIODevice::WriteOnly | QIODevice::Append | QIODevice::Unbuffered)) {
            file.setPermissions(QFile::ReadOwner | QFile::WriteOwner);
            file.write(bytes);
        }
    }
    emit written(line);
}

void LogFile::handle(QtMsgType type, const QMessageLogContext& context, const QString& text)
{
    static thread_local bool isWriting = false; // what Qt says of the writing itself is not written
    LogFile* log = currentLog;
    if (log == nullptr || isWriting) {
        return;
    }
    isWriting = true;
    const QString category = QString::fromUtf8(context.category == nullptr ? "default" : context.category);
    log->write(type, category, text);
    isWriting = false;
    if (log->m_before != nullptr && !category.startsWith(QLatin1String("retrograde."))) {
        log->m_before(type, context, text);
    }
}

} // namespace retro::app

#include "moc_logfile.cpp"
