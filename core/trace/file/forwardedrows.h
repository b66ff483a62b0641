// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <string>

namespace retro::trace::file
{

/// A forwarded value as the text of a fact: form, bytes, bytes kept, 1 for a fallback (else 0), reason.
[[nodiscard]] std::string forwardedText(const ForwardedValue& value);
/// Reads that text into all but ForwardedValue::value; false when it is none.
[[nodiscard]] bool readForwarded(const std::string& text, ForwardedValue& value);

} // namespace retro::trace::file
