// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/pattern.h"

namespace retro::rewrite
{

/// The Softmax that makes `probabilities`, directly or through Where(IsNaN(p), 0, p), which exporters write so that
/// rows that are masked everywhere become zero. Its nodes become members. nullptr when it is something else.
[[nodiscard]] const graph::Node* softmaxBehindGuard(Pattern& pattern, ValueId probabilities);

} // namespace retro::rewrite
