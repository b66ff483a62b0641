// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.h"

#include "core/base/visibletext.h"

#include <mutex>

namespace retro::base
{

namespace
{

struct SharedSink
{
    std::mutex mutex;
    LogSink sink;
};

/// Lives as long as the process: a thread may say something while static objects are destroyed.
SharedSink& sharedSink()
{
    static auto* const shared = new SharedSink;
    return *shared;
}

} // namespace

void setLogSink(LogSink sink)
{
    SharedSink& shared = sharedSink();
    const std::lock_guard lock(shared.mutex);
    shared.sink = std::move(sink);
}

void log(std::string_view category, LogLevel level, std::string_view text)
{
    SharedSink& shared = sharedSink();
    const std::lock_guard lock(shared.mutex);
    if (shared.sink) {
        shared.sink(category, level, visibleText(text));
    }
}

void log(std::string_view category, const Error& error)
{
    if (error.code != ErrorCode::Cancelled) {
        log(category, LogLevel::Warning, error.text());
    }
}

} // namespace retro::base
