// SPDX-License-Identifier: Apache-2.0
#include "core/base/failure.h"

#include "core/base/largeblock.h"
#include "core/base/memorylimit.h"

#include <fmt/format.h>

#include <new>
#include <stdexcept>
#include <string_view>

namespace retro::base
{

Failure::Failure(Error error) : m_error(std::move(error)), m_text(m_error.text()) {}

void detail::failGuard(const char* condition, const std::source_location& place)
{
    const std::string_view path = place.file_name();
    const std::string_view file = path.substr(path.find_last_of('/') + 1);
    throw Failure(engineError(fmt::format("the engine stopped before it could use wrong memory: {} ({}, line {}); this "
                                          "is a fault of Retrograde: please report it with the model",
                                          condition, file, place.line())));
}

namespace
{

/// What `say` gives; where there is not even memory for words, three that need none.
template <class F>
Error saidWithoutMemory(const F& say)
{
    try {
        return say();
    } catch (const std::bad_alloc&) {
        return memoryError("no memory left"); // short enough to lie in the string itself
    }
}

} // namespace

Error errorBeingHandled()
{
    try {
        throw;
    } catch (const Failure& failure) {
        return failure.error();
    } catch (const LargeBlockRefused& refused) {
        return saidWithoutMemory([&refused] {
            auto why = whyNoMemory(refused.bytes());
            return why ? *std::move(why) : outOfMemory(refused.bytes());
        });
    } catch (const std::bad_alloc&) {
        return saidWithoutMemory([] { return outOfMemory(); });
    } catch (const std::length_error&) { // a container that could never be so long
        return saidWithoutMemory([] { return outOfMemory(); });
    } catch (const std::exception& error) {
        return {ErrorCode::Bug, fmt::format("this is a bug in Retrograde: {}", error.what()), {}};
    } catch (...) {
        return {ErrorCode::Bug, "this is a bug in Retrograde: an unknown exception", {}};
    }
}

} // namespace retro::base
