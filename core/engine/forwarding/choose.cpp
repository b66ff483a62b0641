// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/compressible.h"
#include "core/engine/forwarding/forwardedstorage.h"
#include "core/engine/forwarding/forwarding.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::engine
{

using base::Result;
using base::ValueId;

namespace
{

/// Partial choices after which the search for the cheapest set stops proving: each costs a walk over the graph.
constexpr std::size_t kSearchLimit = 20'000;
constexpr double kComputing = 1; ///< of an operator, beside its operations: what moves data only is not free
constexpr std::size_t kMostListed = 8;

/// Why a value cannot be computed again; empty = it can.
std::string whyOnce(const ForwardNeeds& needs, ValueId value)
{
    constexpr std::array<std::string_view, 6> kRandom{"Bernoulli",     "Multinomial",      "RandomNormal",
                                                      "RandomUniform", "RandomNormalLike", "RandomUniformLike"};
    const graph::Graph& graph = needs.model().graph();
    const graph::Node& node = graph.node(graph.value(value).producer);
    const bool isRandom = std::ranges::find(kRandom, node.op) != kRandom.end();
    return isRandom ? fmt::format("{} {} draws random numbers and runs once", node.op, node.name) : std::string();
}

class Chooser
{
public:
    Chooser(const ForwardNeeds& needs, const ForwardingOptions& wish) : m_needs(needs), m_wish(wish) {}

    Result<ForwardingPlan> choose()
    {
        RETRO_CHECK(checkChoices());
        RETRO_CHECK(optimise());
        takeLoops();
        for (std::size_t v = 0; v < m_needs.model().graph().valueCount(); ++v) {
            addDecision(ValueId(v));
        }
        return std::move(m_plan);
    }

private:
    void takeLoops()
    {
        if (m_wish.checkpointEvery) {
            const std::size_t every = *m_wish.checkpointEvery;
            m_plan.segments =
                LoopSegments(m_needs.model(), m_wish.loops, every == 0 ? std::nullopt : std::optional(every));
        }
    }

    /// For a value that somebody needs after the forward pass.
    void addDecision(ValueId value)
    {
        const std::string kept = m_plan.segments.whyKept(m_needs.model(), value);
        if (!kept.empty() && !m_wish.choices.contains(nameOf(value))) {
            m_plan.decisions.push_back({value, ForwardForm::Store, bytesOf(value), 0, kept});
        } else if (m_needs.isForwarded(value)) {
            m_plan.decisions.push_back(decide(value));
        }
    }

    [[nodiscard]] const std::string& nameOf(ValueId value) const { return m_needs.model().graph().value(value).name; }

    [[nodiscard]] Result<void> checkChoices() const
    {
        const graph::Graph& graph = m_needs.model().graph();
        for (const auto& [name, form] : m_wish.choices) {
            const auto value = graph.findValue(name);
            if (!value || !m_needs.isForwarded(*value)) {
                return base::usageError(fmt::format("no reverse rule reads this value of the forward pass; those that "
                                                    "are read are {}",
                                                    someForwarded()),
                                        name);
            }
            if (form == ForwardForm::Alias) {
                return base::usageError("an alias cannot be chosen: it is what happens where the memory of another "
                                        "value holds this one",
                                        name);
            }
        }
        return {};
    }

    [[nodiscard]] std::string someForwarded() const
    {
        std::string names;
        std::size_t count = 0;
        for (std::size_t v = 0; v < m_needs.model().graph().valueCount(); ++v) {
            if (!m_needs.isForwarded(ValueId(v))) {
                continue;
            }
            if (++count <= kMostListed) {
                names += (names.empty() ? "" : ", ") + nameOf(ValueId(v));
            }
        }
        return count > kMostListed ? fmt::format("{} and {} more", names, count - kMostListed) : names;
    }

    Result<void> optimise()
    {
        if (m_wish.strategy != ForwardStrategy::Optimal) {
            return {};
        }
        if (!m_wish.budget) {
            return base::usageError("the cheapest choice needs a budget: --forward-budget BYTES");
        }
        if (m_needs.targets().size() > 1) {
            return base::usageError("the cheapest choice is worked out for a pass that starts at one value; choose "
                                    "another strategy, or one target");
        }
        const ForwardedStorage written = forwardedStorage(m_needs, kComputing);
        const analysis::StorageChoice choice = analysis::chooseStorage(written.problem, *m_wish.budget, kSearchLimit);
        if (!choice.isFeasible) {
            const std::int64_t all = analysis::liveness(written.problem, {}).peak;
            return base::Error{base::ErrorCode::Engine,
                               fmt::format("no choice of what to rebuild was found within {} bytes; with everything "
                                           "stored the peak is {} bytes. --budget in place of --forward plans step by "
                                           "step and needs less",
                                           *m_wish.budget, all),
                               {}};
        }
        for (const std::uint32_t number : choice.recompute) {
            m_rebuilt.push_back(written.values[number]);
        }
        m_plan.modelledPeak = choice.peak;
        m_plan.isProven = choice.isProven;
        return {};
    }

    [[nodiscard]] ForwardForm wished(ValueId value) const
    {
        if (const auto at = m_wish.choices.find(nameOf(value)); at != m_wish.choices.end()) {
            return at->second;
        }
        switch (m_wish.strategy) {
        case ForwardStrategy::Store:
            return ForwardForm::Store;
        case ForwardStrategy::Rebuild:
            return ForwardForm::Rebuild;
        case ForwardStrategy::Compress:
            return ForwardForm::Compress;
        case ForwardStrategy::Optimal:
            break;
        }
        const bool isRebuilt = std::ranges::find(m_rebuilt, value) != m_rebuilt.end();
        return isRebuilt ? ForwardForm::Rebuild : ForwardForm::Store;
    }

    [[nodiscard]] std::int64_t bytesOf(ValueId value) const
    {
        const ops::TensorType& type = m_needs.model().typeOf(value);
        return tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype));
    }

    [[nodiscard]] ForwardDecision decide(ValueId value) const
    {
        const bool isChosen = m_wish.choices.contains(nameOf(value));
        ForwardDecision decision;
        decision.value = value;
        decision.form = wished(value);
        decision.bytes = bytesOf(value);
        decision.reason = isChosen ? "chosen" : "as the strategy says";
        if (!isChosen && m_plan.segments.segmentOf(m_needs.model().graph().value(value).producer)) {
            decision.form = ForwardForm::Rebuild;
            decision.reason = "from the checkpoint before its iteration";
        }
        std::string refusal;
        if (decision.form == ForwardForm::Compress) {
            refusal = whyNotCompressed(m_needs, value);
            decision.reason = "its readers look at signs and winners alone";
        } else if (decision.form == ForwardForm::Rebuild) {
            refusal = whyOnce(m_needs, value);
        }
        if (!refusal.empty()) {
            decision.form = ForwardForm::Store;
            decision.reason = std::move(refusal);
            decision.isFallback = true;
        }
        return decision;
    }

    const ForwardNeeds& m_needs;
    const ForwardingOptions& m_wish;
    ForwardingPlan m_plan;
    std::vector<ValueId> m_rebuilt;
};

} // namespace

std::string_view nameOf(ForwardForm form)
{
    constexpr std::array<std::string_view, 4> kNames{"store", "rebuild", "alias", "compress"};
    return kNames[static_cast<std::size_t>(form)];
}

Result<ForwardingPlan> chooseForwarding(const ForwardNeeds& needs, const ForwardingOptions& wish)
{
    return Chooser(needs, wish).choose();
}

} // namespace retro::engine
