// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/wiringcase.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace retro::engine
{

using tape::Id;

namespace
{

constexpr std::size_t kMostTries = 2000;
constexpr std::size_t kMostNodesListed = 12;

/// Which ids the target is made of.
std::vector<bool> coneOf(const WiringCase& given)
{
    std::vector<bool> cone(given.size(), false);
    cone[given.target] = true;
    for (std::size_t id = given.size(); id-- > given.leaves;) {
        for (const Id parent : cone[id] ? given.parents[id - given.leaves] : std::vector<Id>()) {
            cone[parent] = true;
        }
    }
    return cone;
}

/// The ids that `keeps` names; all others must be unread by them.
WiringCase restricted(const WiringCase& given, const std::vector<bool>& keeps)
{
    WiringCase made;
    std::vector<Id> moved(given.size(), 0);
    for (std::size_t id = 0; id < given.size(); ++id) {
        if (!keeps[id]) {
            continue;
        }
        moved[id] = static_cast<Id>(made.names.size());
        made.names.push_back(given.names[id]);
        made.leaves += id < given.leaves ? 1 : 0;
        if (id >= given.leaves) {
            std::vector<Id> parents;
            std::ranges::transform(given.parents[id - given.leaves], std::back_inserter(parents),
                                   [&moved](Id parent) { return moved[parent]; });
            made.parents.push_back(std::move(parents));
        }
    }
    made.target = moved[given.target];
    return made;
}

class Shrinker
{
public:
    Shrinker(WiringCase start, const WrongWiring& wrong) : m_best(std::move(start)), m_wrong(wrong) {}

    WiringCase shrink()
    {
        bool isSmaller = true;
        while (isSmaller && m_tries < kMostTries) {
            isSmaller = moveTarget() || leaveOutUnreached() || replaceNodes() || leaveOutOperands();
        }
        return std::move(m_best);
    }

private:
    bool take(WiringCase candidate)
    {
        if (m_tries >= kMostTries || ++m_tries > kMostTries || m_wrong(candidate).empty()) {
            return false;
        }
        m_best = std::move(candidate);
        return true;
    }

    /// The earliest target that shows it, with what it is made of alone.
    bool moveTarget()
    {
        for (Id id = static_cast<Id>(m_best.leaves); id < m_best.target; ++id) {
            WiringCase candidate = m_best;
            candidate.target = id;
            if (take(restricted(candidate, coneOf(candidate)))) {
                return true;
            }
        }
        return false;
    }

    bool leaveOutUnreached()
    {
        const std::vector<bool> cone = coneOf(m_best);
        const bool isWhole = std::ranges::find(cone, false) == cone.end();
        return !isWhole && take(restricted(m_best, cone));
    }

    /// Readers of a node read its first operand (a leaf where it has none).
    bool replaceNodes()
    {
        for (std::size_t i = m_best.parents.size(); i-- > 0;) {
            const auto own = static_cast<Id>(m_best.leaves + i);
            if (own == m_best.target || (m_best.parents[i].empty() && m_best.leaves == 0)) {
                continue;
            }
            const Id instead = m_best.parents[i].empty() ? 0 : m_best.parents[i].front();
            WiringCase candidate = m_best;
            for (std::vector<Id>& parents : candidate.parents) {
                std::ranges::replace(parents, own, instead);
            }
            if (take(restricted(candidate, coneOf(candidate)))) {
                return true;
            }
        }
        return false;
    }

    bool leaveOutOperands()
    {
        for (std::size_t i = m_best.parents.size(); i-- > 0;) {
            for (std::size_t slot = 0; slot < m_best.parents[i].size(); ++slot) {
                WiringCase candidate = m_best;
                candidate.parents[i].erase(candidate.parents[i].begin() + static_cast<std::ptrdiff_t>(slot));
                if (take(restricted(candidate, coneOf(candidate)))) {
                    return true;
                }
            }
        }
        return false;
    }

    WiringCase m_best;
    const WrongWiring& m_wrong;
    std::size_t m_tries = 0;
};

} // namespace

std::string WiringCase::text() const
{
    std::vector<std::string> lines;
    for (std::size_t i = parents.size(); i-- > 0 && lines.size() < kMostNodesListed;) {
        std::vector<std::string> operands;
        std::ranges::transform(parents[i], std::back_inserter(operands), [this](Id id) { return names[id]; });
        lines.push_back(fmt::format("{} = f({})", names[leaves + i], fmt::join(operands, ", ")));
    }
    if (parents.size() > kMostNodesListed) {
        lines.push_back(fmt::format("{} nodes more", parents.size() - kMostNodesListed));
    }
    return fmt::format("{}{}from {}", fmt::join(lines, ", "), lines.empty() ? "" : "; ", names[target]);
}

WiringCase wiringOf(const tape::ModelTape& made, Id target)
{
    WiringCase wiring;
    wiring.leaves = made.tape.leafCount();
    wiring.target = target;
    for (Id id = 0; id < made.tape.size(); ++id) {
        wiring.names.push_back(made.nameOf(id));
        if (id >= wiring.leaves) {
            wiring.parents.push_back(made.tape.cell(id).node.parents);
        }
    }
    return wiring;
}

WiringCase smallestCase(WiringCase start, const WrongWiring& wrong)
{
    return Shrinker(std::move(start), wrong).shrink();
}

} // namespace retro::engine
