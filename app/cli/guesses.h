// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <span>

namespace retro::app
{

/// Says on standard error which verb or options of a call there are none of, and what was meant maybe; nothing where
/// all are known.
void sayGuesses(const CLI::App& program, std::span<char* const> arguments);

} // namespace retro::app
