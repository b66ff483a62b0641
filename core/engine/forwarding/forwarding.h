// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwardneeds.h"
#include "core/engine/forwarding/loopsegments.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retro::engine
{

/// How a forward value gets to the reverse rules that read it (docs/tape.md, "Forwarding").
enum class ForwardForm : std::uint8_t {
    Store,   ///< kept as it is
    Rebuild, ///< computed again from what is kept, whenever a rule asks
    Alias,   ///< lies in the memory of another value that is kept anyway: nothing is added
    Compress ///< the bits and winners that its readers look at (PackedSigns)
};

/// "store", "rebuild", "alias", "compress".
[[nodiscard]] std::string_view nameOf(ForwardForm form);

/// How the forms are chosen where a person does not choose.
enum class ForwardStrategy : std::uint8_t {
    Store,    ///< everything is stored
    Rebuild,  ///< everything is computed again
    Compress, ///< compressed where the readers allow it, else stored
    Optimal   ///< the cheapest set to rebuild whose peak is within a budget (analysis::chooseStorage)
};

/// What is wished for.
struct ForwardingOptions
{
    ForwardStrategy strategy = ForwardStrategy::Store;
    std::optional<std::int64_t> budget;         ///< bytes of the modelled peak, for Optimal
    std::map<std::string, ForwardForm> choices; ///< by value name; before the strategy. Alias cannot be chosen
    std::vector<std::string> loops;             ///< Loop and Scan nodes of the model, by name
    /// Loops keep what they carry every so many iterations and compute the rest again, segment by segment: 0 = √ of
    /// the iterations for loops that are not short; none = loops are forwarded like everything else.
    std::optional<std::size_t> checkpointEvery;
};

/// What became of one value.
struct ForwardDecision
{
    base::ValueId value;
    ForwardForm form = ForwardForm::Store;
    std::int64_t bytes = 0;  ///< of the value
    std::int64_t kept = 0;   ///< what it adds to memory between forward and reverse; known after a pass
    std::string reason;      ///< "Relu relu1 reads its signs alone"; of an alias, whose memory it is
    bool isFallback = false; ///< not as wished for; the reason says why
};

/// Decisions for every forward value that a reverse rule reads, or that a loop is rebuilt from, in the order of the
/// values; graph inputs and constants
/// are at hand anyway and left out.
struct ForwardingPlan
{
    std::vector<ForwardDecision> decisions;
    std::optional<std::int64_t> modelledPeak; ///< of Optimal: bytes, inputs and gradients included
    bool isProven = true;                     ///< of Optimal: nothing cheaper fits
    LoopSegments segments;                    ///< values of these that are rebuilt are rebuilt together
};

/// Chooses. Values that are drawn at random are stored, whatever is wished. Errors (Usage): a choice for a value that
/// no reverse rule reads (lists some that can be chosen), Optimal without a budget or from several targets; (Engine):
/// no choice fits the budget.
[[nodiscard]] base::Result<ForwardingPlan> chooseForwarding(const ForwardNeeds& needs, const ForwardingOptions& wish);

} // namespace retro::engine
