// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/graph/attributes.h"

namespace retro::rewrite
{

using graph::attributeOr;
using graph::floatAttribute;
using graph::intAttribute;

} // namespace retro::rewrite
