// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/ways/way.h"

namespace retro::engine
{

/// The specification side: everything is saved, and a plain loop goes through the nodes in reverse order.
class OracleWay final : public Way
{
public:
    [[nodiscard]] WayGives gives() const override { return {false, true, true, true}; }
    [[nodiscard]] ForwardNeed needs(const Pass& pass) const override;
    base::Result<void> run(Pass& pass) override;
};

} // namespace retro::engine
