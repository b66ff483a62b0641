// SPDX-License-Identifier: Apache-2.0
#include "app/python/errors.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace retro::python
{

namespace nb = nanobind;

namespace
{

const char* nameOf(base::ErrorCode code)
{
    using enum base::ErrorCode;
    switch (code) {
    case Usage:
        return "UsageError";
    case Input:
        return "InputError";
    case Engine:
        return "EngineError";
    case Memory:
        return "OutOfMemory";
    case Output:
        return "OutputError";
    case Cancelled:
        return "Cancelled";
    case Bug:
        break;
    }
    return "RetrogradeError";
}

void raise(const base::Error& error)
{
    const nb::object kind = nb::module_::import_("retrograde.errors").attr(nameOf(error.code));
    const nb::object raised = kind(error.message, error.where);
    PyErr_SetObject(kind.ptr(), raised.ptr());
}

void translate(const std::exception_ptr& thrown, void* /*payload*/)
{
    try {
        std::rethrow_exception(thrown);
    } catch (const Refused& refused) {
        raise(refused.error());
    } catch (const base::Failure& failure) {
        raise(failure.error());
    }
}

} // namespace

void translateErrors() { nb::register_exception_translator(translate); }

} // namespace retro::python
