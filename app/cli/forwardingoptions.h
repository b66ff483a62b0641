// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/engine/forwarding/forwardedgradient.h"

#include <optional>
#include <string>
#include <vector>

namespace retro::app
{

/// How forward values get to the rules that read them in a gradient or relevance pass, and what is said about it.
struct ForwardingOptions
{
    std::string strategy;
    std::uint64_t budget = 0;                   ///< bytes; 0 = none
    std::vector<std::string> choices;           ///< NAME=store, NAME=rebuild, NAME=compress
    std::optional<std::size_t> checkpointEvery; ///< iterations of a loop; 0 = chosen
    bool isProfiled = false;
    std::size_t rows = 12;

    void addTo(CLI::App& verb);
    /// The same without the profile.
    void addChoicesTo(CLI::App& verb);
    /// True when the pass is to go by a strategy or to be profiled.
    [[nodiscard]] bool isAsked() const
    {
        return !strategy.empty() || budget > 0 || !choices.empty() || checkpointEvery || isProfiled;
    }
    /// Errors: Usage (a choice that is no NAME=FORM, a budget without the strategy that keeps it).
    [[nodiscard]] base::Result<engine::ForwardingWish> wish() const;
};

/// Decisions with their reasons, for people; `most` of those that are not as they were wished for.
void sayForwarding(const Context& context, const engine::ForwardingDone& done, const graph::Graph& graph,
                   std::size_t most);
/// The same of a gradient pass, with the profile when it is asked for.
void sayForwarding(const Context& context, const ForwardingOptions& options, const engine::ForwardedGradient& made);
/// The same in full.
[[nodiscard]] nlohmann::ordered_json forwardingJson(const ForwardingOptions& options,
                                                    const engine::ForwardedGradient& made);

} // namespace retro::app
