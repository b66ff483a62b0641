// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace retro::base
{

/// What a line of the log is about. The window has Qt categories of the same names.
namespace logcategory
{
inline constexpr std::string_view kModel = "retrograde.model";   ///< models and cards that are read
inline constexpr std::string_view kEngine = "retrograde.engine"; ///< passes
inline constexpr std::string_view kFiles = "retrograde.files";   ///< files that are written
inline constexpr std::string_view kWindow = "retrograde.window"; ///< the window and its jobs
} // namespace logcategory

enum class LogLevel { Info, Warning, Error };

/// Takes one line; called from any thread, by one at a time.
using LogSink = std::function<void(std::string_view category, LogLevel level, const std::string& text)>;

/// Who keeps the log; an empty sink (as at the start): nobody. Any thread.
void setLogSink(LogSink sink);
/// One line for whoever keeps the log; nothing when nobody does. `text` is made visible: control characters are
/// escaped. Any thread.
void log(std::string_view category, LogLevel level, std::string_view text);
/// An error as a warning in the log; what the user stopped is no error.
void log(std::string_view category, const Error& error);

} // namespace retro::base
