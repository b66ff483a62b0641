// SPDX-License-Identifier: Apache-2.0
#include "views/palette/paletteitem.h"

#include <algorithm>

namespace retro::views
{

void keepBest(std::vector<PaletteItem>& items, std::size_t limit)
{
    std::stable_sort(items.begin(), items.end(),
                     [](const PaletteItem& a, const PaletteItem& b) { return a.score > b.score; });
    if (items.size() > limit) {
        items.erase(items.begin() + static_cast<std::ptrdiff_t>(limit), items.end());
    }
}

} // namespace retro::views
