// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/layeredlayout.h"
#include "core/layout/layoutinput.h"

#include <string>

/// What every drawing must fulfil, checked against all pairs, without the drawing's own indexes. Each function returns
/// the first violation in words, or an empty string.
namespace properties
{

using retro::layout::LayeredLayout;
using retro::layout::LayoutInput;

std::string boxesApart(const LayeredLayout& drawing);
std::string edgesRunDown(const LayoutInput& input, const LayeredLayout& drawing);
std::string edgesMissBoxes(const LayoutInput& input, const LayeredLayout& drawing);
std::string layersConsistent(const LayeredLayout& drawing);
std::string framesHoldMembers(const LayoutInput& input, const LayeredLayout& drawing);
std::string everythingInBounds(const LayeredLayout& drawing);

/// All of the above.
std::string firstViolation(const LayoutInput& input, const LayeredLayout& drawing);

} // namespace properties
