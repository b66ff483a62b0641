// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace retro::base
{

/// What kind of failure this is; the command line maps each to its exit code (docs/cli.md).
enum class ErrorCode {
    Usage,     ///< the caller asked for something that does not exist (exit 2)
    Input,     ///< a file, operator, shape or plan that is wrong or not supported (exit 3)
    Engine,    ///< the engine could not finish: no plan, numerical stop (exit 4)
    Memory,    ///< more memory than there is, or than the user allows (exit 4)
    Output,    ///< an output could not be written (exit 5)
    Cancelled, ///< the user stopped it
    Bug,       ///< a broken invariant (exit 1)
};

/// A failure that a user can read: what happened, where, and what to do about it.
struct Error
{
    ErrorCode code = ErrorCode::Bug;
    std::string message; ///< what happened and what to do
    std::string where;   ///< file, node, operator, shape; may be empty

    /// One line for people: "where: message", or the message alone.
    [[nodiscard]] std::string text() const { return where.empty() ? message : where + ": " + message; }
};

/// A value or an Error. Callers must look at it: asking for the one that is not there throws, in every build.
template <class T>
class [[nodiscard]] Result
{
public:
    Result(T value) : m_state(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : m_state(std::in_place_index<1>, std::move(error)) {}

    [[nodiscard]] bool ok() const { return m_state.index() == 0; }
    explicit operator bool() const { return ok(); }

    [[nodiscard]] const T& value() const& { return std::get<0>(m_state); }
    [[nodiscard]] T& value() & { return std::get<0>(m_state); }
    [[nodiscard]] T&& value() && { return std::get<0>(std::move(m_state)); }
    [[nodiscard]] const Error& error() const& { return std::get<1>(m_state); }
    [[nodiscard]] Error&& error() && { return std::get<1>(std::move(m_state)); }

    const T& operator*() const& { return value(); }
    T& operator*() & { return value(); }
    const T* operator->() const { return &value(); }
    T* operator->() { return &value(); }

private:
    std::variant<T, Error> m_state;
};

/// Success or an Error.
template <>
class [[nodiscard]] Result<void>
{
public:
    Result() = default;
    Result(Error error) : m_error(std::move(error)) {}

    [[nodiscard]] bool ok() const { return !m_error.has_value(); }
    explicit operator bool() const { return ok(); }
    [[nodiscard]] const Error& error() const& { return m_error.value(); }
    [[nodiscard]] Error&& error() && { return std::move(m_error).value(); }

private:
    std::optional<Error> m_error;
};

/// An Input error; `where` names the file, node, operator or shape.
[[nodiscard]] inline Error inputError(std::string message, std::string where = {})
{
    return {ErrorCode::Input, std::move(message), std::move(where)};
}

/// A Usage error.
[[nodiscard]] inline Error usageError(std::string message, std::string where = {})
{
    return {ErrorCode::Usage, std::move(message), std::move(where)};
}

/// An Engine error.
[[nodiscard]] inline Error engineError(std::string message, std::string where = {})
{
    return {ErrorCode::Engine, std::move(message), std::move(where)};
}

/// A Memory error: says how much is needed, what there is, and what to do.
[[nodiscard]] inline Error memoryError(std::string message, std::string where = {})
{
    return {ErrorCode::Memory, std::move(message), std::move(where)};
}

/// An Output error.
[[nodiscard]] inline Error outputError(std::string message, std::string where = {})
{
    return {ErrorCode::Output, std::move(message), std::move(where)};
}

/// The same error with `outer` put before its place, for callers that know the file or node.
[[nodiscard]] inline Error within(Error error, const std::string& outer)
{
    error.where = error.where.empty() ? outer : outer + ": " + error.where;
    return error;
}
/// A result whose error gets the place.
template <class T>
[[nodiscard]] Result<T> within(Result<T> result, const std::string& outer)
{
    return result.ok() ? std::move(result) : Result<T>(within(std::move(result).error(), outer));
}

} // namespace retro::base

#define RETRO_CONCAT_INNER(a, b) a##b
#define RETRO_CONCAT(a, b) RETRO_CONCAT_INNER(a, b)

/// `RETRO_TRY(auto x, call())`: x is the value, or the function returns the error.
#define RETRO_TRY(declaration, expression)                                                                             \
    auto RETRO_CONCAT(retroResult, __LINE__) = (expression);                                                           \
    if (!RETRO_CONCAT(retroResult, __LINE__).ok()) {                                                                   \
        return std::move(RETRO_CONCAT(retroResult, __LINE__)).error();                                                 \
    }                                                                                                                  \
    declaration = std::move(RETRO_CONCAT(retroResult, __LINE__)).value()

/// `RETRO_CHECK(call())`: returns the error of a Result<void>, or goes on.
#define RETRO_CHECK(expression)                                                                                        \
    do {                                                                                                               \
        auto retroStatus = (expression);                                                                               \
        if (!retroStatus.ok()) {                                                                                       \
            return std::move(retroStatus).error();                                                                     \
        }                                                                                                              \
    } while (false)
