// SPDX-License-Identifier: Apache-2.0
#include "core/graph/modulename.h"

#include <algorithm>
#include <string_view>

namespace retro::graph
{

std::string moduleOf(const Node& node)
{
    std::string path;
    std::string_view before;
    std::string_view rest = node.scope;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('/'), rest.size());
        const std::string_view part = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        // In "layer1/layer1.0" each part names the one before once more.
        const bool isRepeated =
            !before.empty() && part.size() > before.size() && part.starts_with(before) && part[before.size()] == '.';
        path += isRepeated ? std::string(part.substr(before.size())) : (path.empty() ? "" : ".") + std::string(part);
        before = part;
    }
    return path;
}

} // namespace retro::graph
