// SPDX-License-Identifier: Apache-2.0
#include "core/base/editdistance.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace retro::base
{

std::size_t editsBetween(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> before;
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::vector<std::size_t> next{i + 1};
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = row[j] + (a[i] == b[j] ? 0 : 1);
            next.push_back(std::min({changed, next[j] + 1, row[j + 1] + 1}));
            if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
                next.back() = std::min(next.back(), before[j - 1] + 1);
            }
        }
        before = std::exchange(row, std::move(next));
    }
    return row.back();
}

std::vector<std::string_view> nearestNames(std::string_view name, const std::vector<std::string_view>& names)
{
    constexpr std::size_t kFew = 3;
    const auto inLowerCase = [](std::string_view text) {
        std::string lower(text);
        std::ranges::transform(lower, lower.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
        return lower;
    };
    const std::string own = inLowerCase(name);
    const std::size_t most = std::min(std::max<std::size_t>(name.size() / 3, 2), name.size() / 2);
    std::vector<std::pair<std::size_t, std::string_view>> near;
    for (const std::string_view other : names) {
        const std::size_t edits = editsBetween(own, inLowerCase(other));
        if (edits <= most) {
            near.emplace_back(edits, other);
        }
    }
    std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string_view>::first);
    near.resize(std::min(near.size(), kFew));
    std::vector<std::string_view> few;
    std::ranges::transform(near, std::back_inserter(few), &std::pair<std::size_t, std::string_view>::second);
    return few;
}

} // namespace retro::base
