// SPDX-License-Identifier: Apache-2.0
#include "views/common/selection.h"

#include <utility>

namespace retro::views
{

void Selection::set(SelectedThing thing)
{
    if (thing == m_thing) {
        return;
    }
    m_thing = std::move(thing);
    emit changed();
}

} // namespace retro::views

#include "moc_selection.cpp"
