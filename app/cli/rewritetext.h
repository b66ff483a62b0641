// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/rewrite/rewrite.h"

#include <nlohmann/json.hpp>

namespace retro::app
{

/// What each rewrite did: `rewrite`, `name`, `what`, and the nodes `before` and `after` ("Conv stem/conv"), which are
/// empty where it only says why nothing was changed.
[[nodiscard]] nlohmann::ordered_json rewritesJson(const rewrite::Rewritten& rewritten);

/// The same as lines; with `isDiff` a line "−" per node that was taken away and "+" per node that stands there now.
void sayRewrites(const Context& context, const rewrite::Rewritten& rewritten, bool isDiff);

} // namespace retro::app
