// SPDX-License-Identifier: Apache-2.0
#include "core/program/program.h"

#include <array>

namespace retro::program
{

std::string_view nameOf(Opcode opcode)
{
    static constexpr std::array<std::string_view, 8> kNames{"fetch", "constant", "carry", "forward",
                                                            "start", "sum",      "rule",  "snapshot"};
    return kNames[static_cast<std::size_t>(opcode)];
}

} // namespace retro::program
