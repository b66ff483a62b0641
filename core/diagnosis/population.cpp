// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/population.h"

namespace retro::diagnosis
{

std::size_t Answers::right(const std::vector<std::int64_t>& truth) const
{
    std::size_t count = 0;
    for (std::size_t i = 0; i < best.size(); ++i) {
        count += best[i] == truth[i] ? 1 : 0;
    }
    return count;
}

} // namespace retro::diagnosis
