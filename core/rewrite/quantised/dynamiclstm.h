// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/quantised/dequantiser.h"

namespace retro::rewrite
{

/// DynamicQuantizeLSTM with constant weights → a Scan per direction, whose step is the one that an LSTM has, of the
/// input and the state as their own ranges quantise them.
[[nodiscard]] bool dynamicQuantizeLstm(Dequantiser& to, NodeId id);

} // namespace retro::rewrite
