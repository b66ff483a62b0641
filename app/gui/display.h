// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QtGlobal>

#include <cstdio>
#include <string>

namespace retro::app
{

/// Exit code without a display; that of an output that cannot be written (docs/cli.md).
inline constexpr int kNoDisplay = 5;

/// What to do without a display.
inline constexpr const char* kWithoutDisplay =
    "start it on a desktop, or set QT_QPA_PLATFORM=offscreen for pictures without one";

/// Why no window can be shown: neither a display is named, nor a platform of Qt that needs none. Empty where one can
/// be.
[[nodiscard]] inline std::string missingDisplay()
{
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) {
        if (!qEnvironmentVariableIsEmpty(name)) {
            return {};
        }
    }
    return std::string("there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set); ") + kWithoutDisplay;
}

/// Stands before the message handler of quietPlatform() while the application object is made: where Qt cannot reach its
/// display and would abort, the process ends with kNoDisplay and one sentence on standard error.
class DisplayWatch
{
public:
    DisplayWatch() { next() = qInstallMessageHandler(onMessage); }
    ~DisplayWatch() { qInstallMessageHandler(next()); }
    DisplayWatch(const DisplayWatch&) = delete;
    DisplayWatch& operator=(const DisplayWatch&) = delete;

private:
    static QtMessageHandler& next()
    {
        static QtMessageHandler handler = nullptr;
        return handler;
    }

    static void onMessage(QtMsgType type, const QMessageLogContext& context, const QString& message)
    {
        if (type == QtFatalMsg && message.contains(QLatin1String("Qt platform plugin"))) {
            std::fprintf(stderr, "retrograde: the display cannot be reached, or Qt has no such platform; %s\n",
                         kWithoutDisplay);
            std::_Exit(kNoDisplay);
        }
        const bool isBefore = message.contains(QLatin1String("connect to display")) ||
                              message.contains(QLatin1String("wl_display")) ||
                              message.contains(QLatin1String("Qt platform plugin"));
        if (!isBefore && next() != nullptr) { // else the sentence above follows
            next()(type, context, message);
        }
    }
};

} // namespace retro::app
