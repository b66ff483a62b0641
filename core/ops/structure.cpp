// SPDX-License-Identifier: Apache-2.0
#include "core/ops/structure.h"

#include <array>

namespace retro::ops
{

std::string_view nameOf(StructureKind kind)
{
    static constexpr std::array<std::string_view, 17> kNames{
        "linear map",   "bilinear",           "sum of operands", "product",      "quotient",      "shape map",
        "element-wise", "reduction",          "average pool",    "max pool",     "normalisation", "softmax",
        "function",     "self-normalisation", "composed",        "table lookup", "no relevance"};
    return kNames[static_cast<std::size_t>(kind)];
}

} // namespace retro::ops
