// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"

namespace retro::app
{

void addGrad(CLI::App& program, Context& context);
void addVerify(CLI::App& program, Context& context);

} // namespace retro::app
