// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwardedstore.h"
#include "core/engine/ways/promise.h"

#include <memory>

namespace retro::engine
{

/// The traversal over forward values in chosen forms: every rule gets what it reads, so that no promise is raised.
class ForwardedWay final : public PromiseWay
{
public:
    base::Result<execute::ForwardResult> forward(Pass& pass) override;
    base::Result<void> run(Pass& pass) override;
    [[nodiscard]] std::string_view saving(const Pass& pass) const override;
    [[nodiscard]] const execute::SavedValues* saved(const Pass&) const override { return nullptr; }

protected:
    base::Result<void> carryTo(Pass& pass, const lrp::TraversalGraph& graph, event::Sink& sink) override;

private:
    std::shared_ptr<ForwardedStore> m_store;
};

} // namespace retro::engine
