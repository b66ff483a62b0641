// SPDX-License-Identifier: Apache-2.0
#include "core/execute/weightbytes.h"

#include <set>

namespace retro::execute
{

std::uint64_t weightBytes(const BoundModel& model)
{
    std::set<const void*> seen;
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < model.graph().valueCount(); ++i) {
        const Tensor& constant = model.storedConstant(ValueId(i));
        if (constant.isValid() && seen.insert(constant.storage().get()).second) {
            bytes += static_cast<std::uint64_t>(constant.bytes());
        }
    }
    return bytes;
}

} // namespace retro::execute
