// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

namespace retro::base
{

/// What a program that failed so exits with: the table of docs/cli.md.
[[nodiscard]] constexpr int exitCodeOf(ErrorCode code)
{
    switch (code) {
    case ErrorCode::Usage:
        return 2;
    case ErrorCode::Input:
        return 3;
    case ErrorCode::Engine:
    case ErrorCode::Memory:
    case ErrorCode::Cancelled:
        return 4;
    case ErrorCode::Output:
        return 5;
    case ErrorCode::Bug:
        break;
    }
    return 1;
}

} // namespace retro::base
