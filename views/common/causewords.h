// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"

#include <QString>

namespace retro::views
{

/// What a cause did to relevance, as a line of the ledger: "Absorbed by bias"; where it was gained, "Added by bias".
[[nodiscard]] QString causeText(event::Cause cause, bool isGain = false);
/// The same within a sentence: "bias".
[[nodiscard]] QString shortCauseText(event::Cause cause);

} // namespace retro::views
