// SPDX-License-Identifier: Apache-2.0
#include "core/ops/shape/elementtype.h"

#include "core/ops/numbertypes.h"

#include <fmt/format.h>

#include <optional>

namespace retro::ops
{

using tensor::DType;

base::Result<DType> elementType(const BindContext& context, std::string_view attribute)
{
    const std::int64_t number = context.intAttribute(attribute, 0);
    const std::string name = context.textAttribute(attribute, {});
    if (const std::optional<DType> known = name.empty() ? dtypeOfOnnx(number) : dtypeOfOnnx(name)) {
        return tensor::isFloating(*known) ? context.floatType : *known;
    }
    return context.error(fmt::format("element type {} is not supported", name.empty() ? std::to_string(number) : name));
}

base::Result<tensor::NarrowRounding> narrowRounding(const BindContext& context)
{
    tensor::NarrowRounding rounding;
    rounding.isSaturating = context.intAttribute("saturate", 1) != 0;
    const std::string mode = context.textAttribute("round_mode", "up");
    if (mode != "up" && mode != "down" && mode != "nearest") {
        return context.error(fmt::format("round_mode '{}' is unknown; only 'up', 'down' and 'nearest' are", mode));
    }
    rounding.power = mode == "up"     ? tensor::PowerRounding::Up
                     : mode == "down" ? tensor::PowerRounding::Down
                                      : tensor::PowerRounding::Nearest;
    return rounding;
}

} // namespace retro::ops
