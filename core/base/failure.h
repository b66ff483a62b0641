// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <exception>
#include <source_location>
#include <type_traits>

namespace retro::base
{

/// An Error on its way out of code that gives back no Result, such as an operator's forward pass. It becomes the Error
/// again in caught(). Made for what nearly never happens: memory that ends, a condition of guard() that does not hold.
class Failure final : public std::exception
{
public:
    explicit Failure(Error error);

    [[nodiscard]] const Error& error() const { return m_error; }
    [[nodiscard]] const char* what() const noexcept override { return m_text.c_str(); }

private:
    Error m_error;
    std::string m_text;
};

namespace detail
{
[[noreturn]] void failGuard(const char* condition, const std::source_location& place);
} // namespace detail

/// Stands before every read or write whose place follows from a shape, an index or a slot that other code worked out.
/// Unlike assert() it stays in every build: where `holds` is false it throws a Failure (Engine) with `condition`, what
/// should have been so, in words. Not for the inside of loops over elements.
inline void guard(bool holds, const char* condition, std::source_location place = std::source_location::current())
{
    if (!holds) [[unlikely]] {
        detail::failGuard(condition, place);
    }
}

/// The Error of the exception that is being handled; call it inside a catch block. A Failure gives the one that it
/// holds; std::bad_alloc and std::length_error mean that memory has ended (Memory); anything else is a Bug.
[[nodiscard]] Error errorBeingHandled();

/// f(), which gives back a Result; what it throws becomes the Result's error. Stands where the engine is called: around
/// a verb, a job of a thread.
template <class F>
[[nodiscard]] auto caught(const F& f) -> std::invoke_result_t<const F&>
{
    try {
        return f();
    } catch (...) {
        return errorBeingHandled();
    }
}

namespace detail
{
template <class T>
struct ResultOf
{
    using Type = Result<T>;
};
template <class T>
struct ResultOf<Result<T>>
{
    using Type = Result<T>;
};
} // namespace detail

/// As caught(), also for an f() that gives back the value itself or nothing. An exception's error gets `place()` (a
/// node) as its place where it has none yet.
template <class F, class Place>
[[nodiscard]] auto caughtAt(const Place& place, const F& f) ->
    typename detail::ResultOf<std::invoke_result_t<const F&>>::Type
{
    try {
        if constexpr (std::is_void_v<std::invoke_result_t<const F&>>) {
            f();
            return {};
        } else {
            return f();
        }
    } catch (...) {
        Error error = errorBeingHandled();
        return error.where.empty() ? within(std::move(error), place()) : error;
    }
}

/// f(); what it throws leaves as a Failure whose error has a place, `place()` where it had none.
template <class F, class Place>
auto placed(const Place& place, const F& f) -> std::invoke_result_t<const F&>
{
    try {
        return f();
    } catch (...) {
        Error error = errorBeingHandled();
        throw Failure(error.where.empty() ? within(std::move(error), place()) : std::move(error));
    }
}

/// The value of a Result that is no error here unless memory ends; an error leaves as a Failure.
template <class T>
[[nodiscard]] T orFail(Result<T> result)
{
    if (!result.ok()) {
        throw Failure(std::move(result).error());
    }
    return std::move(result).value();
}

} // namespace retro::base
