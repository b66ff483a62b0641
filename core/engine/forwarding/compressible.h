// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwardneeds.h"
#include "core/engine/forwarding/packedsigns.h"

#include <string>

namespace retro::engine
{

/// Why the rules that read a value need more of it than signs and winners; empty = they do not.
[[nodiscard]] std::string whyNotCompressed(const ForwardNeeds& needs, base::ValueId value);

/// What the rules that read a value look at; only for values that whyNotCompressed() answers nothing for.
[[nodiscard]] PackedSigns compress(const ForwardNeeds& needs, base::ValueId value, const tensor::Tensor& data);

} // namespace retro::engine
