// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/bind/bindcheck.h"
#include "core/ops/registry.h"

namespace retro::ops
{

/// An arithmetic operator in its form before opset 7, where operand 1 was repeated on demand.
template <BindFunction bind>
base::Result<std::unique_ptr<BoundOperator>> bindOld(const BindContext& context)
{
    RETRO_CHECK(expectOldBroadcast(context));
    return bind(context);
}

} // namespace retro::ops
