// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwarding.h"
#include "core/engine/gradient/gradient.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace retro::engine
{

/// What a gradient pass spent on one operator.
struct OperatorCost
{
    base::NodeId node;
    double forwardSeconds = 0;
    double reverseSeconds = 0;
    double rebuildSeconds = 0; ///< of values that its reverse rule asked for and that had to be computed again
    double flops = 0;          ///< of one forward computation, as the operator counts them: multiply-add as two
    double reverseFlops = 0;   ///< of its reverse rule, see reverseFlops()
    double rebuildFlops = 0;   ///< of what was computed again for its reverse rule
    std::int64_t bytes = 0;    ///< of its results
    std::size_t rebuilds = 0;  ///< times that it was computed again
};

/// Watches a gradient pass operator by operator, on the thread that runs it.
class GradientObserver
{
public:
    virtual ~GradientObserver() = default;
    /// A node's forward computation has ended: `cost` has its time, results and operations.
    virtual void onForward(const OperatorCost& /*cost*/) {}
    /// It was decided how a value gets to the reverse rules.
    virtual void onForwarded(const ForwardDecision& /*decision*/) {}
    /// A node's reverse rule has run: `cost` also has its time and operations, and those of what it reads.
    virtual void onReverse(const OperatorCost& /*cost*/) {}
};

/// A gradient pass whose forward values came to the reverse rules as a plan says.
struct ForwardedGradient
{
    GradientResult gradient;         ///< bit for bit that of engine::gradient(); `cells` counts nodes, `visited` rules
    ForwardingPlan plan;             ///< with what was kept; an alias names whose memory it is
    std::int64_t storedBytes = 0;    ///< that storing every value by itself would have kept
    std::int64_t keptBytes = 0;      ///< that were kept between forward and reverse
    std::size_t rebuilds = 0;        ///< nodes that were computed again, each time counted
    std::vector<OperatorCost> costs; ///< per node

    /// What became of the forward values, as relevance passes say it.
    [[nodiscard]] ForwardingDone forwarding() const;
};

/// As gradient(): the same rules, the same sums in the same order, other memory. Errors: as gradient(),
/// chooseForwarding().
[[nodiscard]] base::Result<ForwardedGradient> forwardedGradient(std::shared_ptr<const execute::BoundModel> model,
                                                                const GradientRequest& request,
                                                                const ForwardingOptions& wish,
                                                                const std::stop_token& stop = {},
                                                                GradientObserver* observer = nullptr);
/// The same over a model that is not bound yet.
[[nodiscard]] base::Result<ForwardedGradient>
forwardedGradient(const LoadedModel& model, const GradientRequest& request, const ForwardingOptions& wish,
                  const std::stop_token& stop = {}, GradientObserver* observer = nullptr);

} // namespace retro::engine
