// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/ranking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace retro::diagnosis
{

namespace
{

/// What a cause that has flow.cut behind it adds to its score (section 3, *total loss before its shadow*).
constexpr double kRaiseOfTotalLoss = 0.5;

/// What it adds to the score of a finding of forward.* that it holds for every sample (section 4.9, eval.batch).
constexpr double kRaiseOfBatch = 0.3;

/// Growth of fewer decades is none (section 4.6, flow.explodes: > 2).
constexpr double kDecadesOfMany = 2;

bool isOneOf(std::string_view id, std::span<const std::string_view> names)
{
    return std::ranges::any_of(
        names, [id](std::string_view name) { return name.ends_with('.') ? id.starts_with(name) : id == name; });
}

/// True for a warning that may take all relevance of what lies behind it (section 3).
bool mayTakeAll(const Finding& finding)
{
    static constexpr std::array<std::string_view, 11> kIds{
        "forward.dead",   "forward.saturated",  "forward.half",         "quant.",
        "recurrent.gate", "model.zero-weights", "model.zero-factor",    "model.stride",
        "rule.stop",      "flow.unread",        "flow.zero-denominator"};
    return finding.level >= Level::Warning && isOneOf(finding.id, kIds);
}

/// True for a fault of the file that explains what is seen behind it (section 3, *the file before its effect*).
bool isFault(const Finding& finding)
{
    static constexpr std::array<std::string_view, 3> kIds{"model.channel-outlier", "model.bn-outlier",
                                                          "model.norm-outlier"};
    return isOneOf(finding.id, kIds);
}

bool isEffect(const Finding& finding)
{
    static constexpr std::array<std::string_view, 2> kFamilies{"forward.", "flow."};
    return finding.level != Level::Error && isOneOf(finding.id, kFamilies);
}

bool precedes(const Finding& a, const Finding& b)
{
    if (a.score() != b.score()) {
        return a.score() > b.score();
    }
    return a.place.node < b.place.node;
}

/// Moves the findings that `follows(cause, effect)` says to their cause, which comes before them in the list.
class Grouping
{
public:
    Grouping(const Facts& facts, std::vector<Finding> findings) : m_facts(facts), m_findings(std::move(findings))
    {
        m_isTaken.resize(m_findings.size(), false);
    }

    std::vector<Finding> run()
    {
        raiseEvaluation();
        std::ranges::stable_sort(m_findings, precedes);
        takeCuts();
        takeEffects();
        takeEffectsOfBias();
        takeBatch();
        takeTies();
        takeBetter();
        takeExplosion();
        takeSymptoms();
        dropTaken();
        std::ranges::stable_sort(m_findings, precedes);
        takeSamePlace();
        dropTaken();
        return std::move(m_findings);
    }

private:
    void take(std::size_t cause, std::size_t effect)
    {
        Finding moved = std::move(m_findings[effect]);
        std::vector<Finding> below = std::move(moved.also);
        moved.also.clear();
        m_findings[cause].also.push_back(std::move(moved));
        std::ranges::move(below, std::back_inserter(m_findings[cause].also));
        m_isTaken[effect] = true;
    }

    /// A heatmap that points elsewhere than the model looks confirms a fault of its flow (section 4.9).
    void raiseEvaluation()
    {
        const bool hasFlow = std::ranges::any_of(m_findings, [](const Finding& finding) {
            return finding.level >= Level::Warning && finding.family() == "flow";
        });
        for (Finding& finding : m_findings) {
            if (hasFlow && finding.id == "eval.below-random") {
                finding.level = Level::Warning;
                finding.base = 2;
            }
        }
    }

    /// An input that nothing reaches is the shadow of what takes all relevance on the way to it.
    void takeCuts()
    {
        for (std::size_t i = 0; i < m_findings.size(); ++i) {
            if (m_findings[i].id != "flow.cut") {
                continue;
            }
            for (std::size_t k = 0; k < m_findings.size(); ++k) {
                if (k != i && !m_isTaken[k] && mayTakeAll(m_findings[k]) && isOnTheWay(m_findings[k], m_findings[i])) {
                    m_findings[k].raised += kRaiseOfTotalLoss;
                    take(k, i);
                    break;
                }
            }
        }
    }

    /// The input that a cut is about stands in its action.
    [[nodiscard]] bool isOnTheWay(const Finding& cause, const Finding& cut) const
    {
        const auto input = cut.action.arguments.find("input");
        if (input == cut.action.arguments.end() || !cause.place.node.isValid() || m_facts.pass() == nullptr) {
            return false;
        }
        const std::optional<ValueId> value = m_facts.graph().findValue(input->second);
        const NodeId node = value ? m_facts.graph().nodeOf(*value) : NodeId();
        return node.isValid() && descendantsOf(m_facts.graph(), node)[cause.place.node.index()];
    }

    void takeEffects()
    {
        for (std::size_t i = 0; i < m_findings.size(); ++i) {
            if (m_isTaken[i] || !isFault(m_findings[i]) || !m_findings[i].place.node.isValid()) {
                continue;
            }
            const std::vector<bool> isBehind = descendantsOf(m_facts.graph(), m_findings[i].place.node);
            for (std::size_t k = 0; k < m_findings.size(); ++k) {
                const NodeId at = m_findings[k].place.node;
                if (k != i && !m_isTaken[k] && isEffect(m_findings[k]) && at.isValid() && isBehind[at.index()]) {
                    take(i, k);
                }
            }
        }
    }

    /// What a bias pushes over the bounds of what is behind it follows from the bias.
    void takeEffectsOfBias()
    {
        static constexpr std::array<std::string_view, 5> kEffects{
            "forward.dead", "forward.saturated", "forward.clipped", "forward.ties", "flow.zero-denominator"};
        for (std::size_t i = 0; i < m_findings.size(); ++i) {
            const bool isCause = !m_isTaken[i] && m_findings[i].id == "flow.bias" &&
                                 m_findings[i].level == Level::Warning && m_findings[i].place.node.isValid();
            if (!isCause) {
                continue;
            }
            const std::vector<bool> isBehind = descendantsOf(m_facts.graph(), m_findings[i].place.node);
            for (std::size_t k = 0; k < m_findings.size(); ++k) {
                const NodeId at = m_findings[k].place.node;
                const bool isEffectOfBias = k != i && !m_isTaken[k] && m_findings[k].level != Level::Error &&
                                            isOneOf(m_findings[k].id, kEffects);
                if (isEffectOfBias && at.isValid() && isBehind[at.index()]) {
                    m_findings[i].raised =
                        std::max(m_findings[i].raised, m_findings[k].score() - m_findings[i].score());
                    take(i, k);
                }
            }
        }
    }

    /// That it is so for every sample confirms what is said of a node.
    void takeBatch()
    {
        for (std::size_t i = 0; i < m_findings.size(); ++i) {
            for (std::size_t k = 0; k < m_findings.size() && m_findings[i].family() == "forward"; ++k) {
                const bool isOfIt = !m_isTaken[i] && !m_isTaken[k] && m_findings[k].id == "eval.batch" &&
                                    m_findings[k].place.node == m_findings[i].place.node;
                if (isOfIt) {
                    m_findings[i].raised += kRaiseOfBatch;
                    take(i, k);
                }
            }
        }
    }

    /// What is cut off at a bound is equal afterwards, and windows behind it have ties.
    void takeTies()
    {
        static constexpr std::array<std::string_view, 3> kCuts{"quant.", "forward.clipped", "forward.saturated"};
        for (std::size_t i = 0; i < m_findings.size(); ++i) {
            const Finding& cut = m_findings[i];
            if (m_isTaken[i] || !isOneOf(cut.id, kCuts) || !cut.place.node.isValid()) {
                continue;
            }
            const std::vector<bool> isBehind = descendantsOf(m_facts.graph(), cut.place.node);
            for (std::size_t k = 0; k < m_findings.size(); ++k) {
                const NodeId at = m_findings[k].place.node;
                if (!m_isTaken[k] && m_findings[k].id == "forward.ties" && isBehind[at.index()]) {
                    take(i, k);
                }
            }
        }
    }

    /// Other rules that were tried because relevance explodes are what to do about that.
    void takeBetter()
    {
        const auto explodes = std::ranges::find(m_findings, "flow.explodes", &Finding::id);
        for (std::size_t i = 0; explodes != m_findings.end() && i < m_findings.size(); ++i) {
            const auto at = static_cast<std::size_t>(explodes - m_findings.begin());
            if (m_findings[i].id == "rule.better" && !m_isTaken[i] && !m_isTaken[at]) {
                explodes->remedy = m_findings[i].what;
                explodes->remedy.front() = 'W'; // "With other rules …"
                explodes->action = m_findings[i].action;
                take(at, i);
            }
        }
    }

    /// An explosion that one node accounts for follows from the growth there.
    void takeExplosion()
    {
        const auto explodes = std::ranges::find(m_findings, "flow.explodes", &Finding::id);
        for (std::size_t i = 0; explodes != m_findings.end() && i < m_findings.size(); ++i) {
            const auto at = static_cast<std::size_t>(explodes - m_findings.begin());
            const bool isGrowth = m_findings[i].id == "flow.growth" && !m_isTaken[i] && !m_isTaken[at];
            const double rest = isGrowth ? m_findings[at].number("decades") - std::log10(m_findings[i].number("factor"))
                                         : kDecadesOfMany + 1;
            if (rest <= kDecadesOfMany) {
                take(i, at);
            }
        }
    }

    /// What follows from a cause wherever that is: forward values part where models or inputs differ; few answers are
    /// right where inputs, labels or a layer are not those of the training; numbers that are too large saturate.
    void takeSymptoms()
    {
        struct Following
        {
            std::vector<std::string_view> causes;
            std::vector<std::string_view> symptoms;
        };
        static const std::array kFollowing{
            Following{{"diff.node", "diff.attribute", "diff.weight", "diff.rewired", "diff.input"}, {"diff.forward"}},
            Following{{"data.preparation", "data.labels", "data.repair", "data.statistics", "input.preparation",
                       "input.drift", "model.untrained", "model.twins", "model.skip"},
                      {"data.classes", "data.accuracy"}},
            Following{{"data.preparation"},
                      {"recurrent.gate", "forward.dead", "forward.saturated", "forward.clipped", "forward.ties"}}};
        for (const Following& following : kFollowing) {
            const auto cause = std::ranges::find_if(m_findings, [&](const Finding& finding) {
                return finding.level > Level::Note && isOneOf(finding.id, following.causes);
            });
            for (std::size_t i = 0; cause != m_findings.end() && i < m_findings.size(); ++i) {
                const auto at = static_cast<std::size_t>(cause - m_findings.begin());
                if (i != at && !m_isTaken[at] && !m_isTaken[i] && isOneOf(m_findings[i].id, following.symptoms)) {
                    take(at, i);
                }
            }
        }
    }

    /// One finding per place and family.
    void takeSamePlace()
    {
        m_isTaken.assign(m_findings.size(), false);
        for (std::size_t i = 0; i < m_findings.size(); ++i) {
            for (std::size_t k = 0; k < i && !m_isTaken[i]; ++k) {
                const bool isSame = !m_isTaken[k] && m_findings[k].place.name == m_findings[i].place.name &&
                                    m_findings[k].family() == m_findings[i].family();
                if (isSame) {
                    take(k, i);
                }
            }
        }
    }

    void dropTaken()
    {
        std::vector<Finding> left;
        for (std::size_t i = 0; i < m_findings.size(); ++i) {
            if (!m_isTaken[i]) {
                left.push_back(std::move(m_findings[i]));
            }
        }
        m_findings = std::move(left);
        m_isTaken.assign(m_findings.size(), false);
    }

    const Facts& m_facts;
    std::vector<Finding> m_findings;
    std::vector<bool> m_isTaken;
};

} // namespace

std::vector<Finding> ranked(const Facts& facts, std::vector<Finding> findings)
{
    return Grouping(facts, std::move(findings)).run();
}

} // namespace retro::diagnosis
