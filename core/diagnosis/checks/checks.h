// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/check.h"

/// Every check, in the order of docs/diagnosis.md: one line each. Each stands in a file of its own beside this one.
#define RETRO_DIAGNOSIS_CHECKS(X)                                                                                      \
    X(modelTraining)                                                                                                   \
    X(modelWeightNonfinite)                                                                                            \
    X(modelChannelOutlier)                                                                                             \
    X(flowUnread)

namespace retro::diagnosis
{

#define RETRO_DECLARE_CHECK(name) extern const Check name;
RETRO_DIAGNOSIS_CHECKS(RETRO_DECLARE_CHECK)
#undef RETRO_DECLARE_CHECK

} // namespace retro::diagnosis
