// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/ways/pass.h"

#include <memory>
#include <string_view>
#include <vector>

namespace retro::engine
{

/// What a way asks of the forward pass.
struct ForwardNeed
{
    execute::SavePolicy policy = execute::SavePolicy::Autograd;
    std::vector<base::ValueId> alsoKept; ///< beside what the policy says
};

/// What a way can give beside the relevance of graph inputs, or what is wanted of one.
struct WayGives
{
    bool run = false;         ///< events, to be recorded or kept for the next pass
    bool checkpoints = false; ///< snapshots of relevance on the way
    bool parameters = false;  ///< what the relevance of parameters is made from
    bool allValues = false;   ///< the relevance of every value

    /// Everything that `wanted` has.
    [[nodiscard]] bool cover(const WayGives& wanted) const
    {
        return run >= wanted.run && checkpoints >= wanted.checkpoints && parameters >= wanted.parameters &&
               allValues >= wanted.allValues;
    }
};

/// A way of carrying relevance from the targets to the inputs. One object carries it once.
class Way
{
public:
    Way() = default;
    Way(const Way&) = delete;
    Way& operator=(const Way&) = delete;
    virtual ~Way() = default;

    [[nodiscard]] virtual WayGives gives() const { return {true, true, true, true}; }
    /// What it needs of the forward pass; by itself, what the request saves.
    [[nodiscard]] virtual ForwardNeed needs(const Pass& pass) const;
    /// The forward pass that it needs; by itself, what needs() says. Errors: as execute::forward().
    virtual base::Result<execute::ForwardResult> forward(Pass& pass);
    /// Carries relevance from pass.starts into pass.result. Errors: as explain().
    virtual base::Result<void> run(Pass& pass) = 0;
    /// What was saved, in words, for a recorded run.
    [[nodiscard]] virtual std::string_view saving(const Pass& pass) const;
    /// What the rules read of the forward pass, where it is still there; null where parameters need another pass.
    [[nodiscard]] virtual const execute::SavedValues* saved(const Pass& pass) const { return &pass.forward->saved; }
};

/// The ways that need no more than the pass; a file each, and so have those of program.h.
[[nodiscard]] std::unique_ptr<Way> oracleWay();
[[nodiscard]] std::unique_ptr<Way> forwardedWay();
[[nodiscard]] std::unique_ptr<Way> plannedWay();

/// The way that a bound pass goes. Errors: Usage (no checkpoint to stop at), Bug, Cancelled.
[[nodiscard]] base::Result<std::unique_ptr<Way>> chooseWay(Pass& pass);

} // namespace retro::engine
