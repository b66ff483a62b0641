// SPDX-License-Identifier: Apache-2.0
#include "core/execute/sizesonly.h"

#include <utility>

namespace retro::execute
{

namespace
{

bool& isOnHere()
{
    thread_local bool isOn = false;
    return isOn;
}

} // namespace

SizesOnly::SizesOnly() : m_before(std::exchange(isOnHere(), true)) {}

SizesOnly::~SizesOnly() { isOnHere() = m_before; }

bool SizesOnly::isOn() { return isOnHere(); }

} // namespace retro::execute
