// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/question/fields.h"

namespace CLI
{
class App;
}

namespace retro::app
{

/// The type, in --help, of an option that names a file to write.
inline constexpr const char* kOutputType = "OUTPUT";

/// Gives a verb the options of its fields (core/engine/question/fields.h), which write into `question`. It must live as
/// long as the verb.
void addQuestion(CLI::App& verb, engine::Verb which, engine::Question& question);

} // namespace retro::app
