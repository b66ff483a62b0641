// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/failure.h"
#include "core/base/result.h"

#include <exception>
#include <utility>

namespace retro::python
{

/// An Error on its way to Python, where it becomes one of the classes of retrograde/errors.py.
class Refused final : public std::exception
{
public:
    explicit Refused(base::Error error) : m_error(std::move(error)) {}

    [[nodiscard]] const base::Error& error() const { return m_error; }
    [[nodiscard]] const char* what() const noexcept override { return m_error.message.c_str(); }

private:
    base::Error m_error;
};

/// The value of a result; throws Refused where there is none.
template <class T>
T valueOf(base::Result<T> result)
{
    if (!result) {
        throw Refused(std::move(result).error());
    }
    if constexpr (!std::is_void_v<T>) {
        return std::move(result).value();
    }
}

/// Makes Python exceptions of Refused and of what the engine throws.
void translateErrors();

} // namespace retro::python
