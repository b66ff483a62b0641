// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/linearrule.h"
#include "core/lrp/rules/ruleparameters.h"

#include <algorithm>
#include <vector>

namespace retro::lrp
{

/// What a rule is called, which parameters it has, and which structures it is for.
struct RuleTitle
{
    std::string_view name;
    std::vector<ops::StructureKind> structures{};
    RuleParameters parameters{};
    std::string text{}; ///< for people; empty: the name
    /// Which structures it is for, where their kind does not say that.
    bool (*isFor)(const ops::Structure&) = nullptr;
    bool isLinear = true; ///< in what arrives
};

/// The title of a rule whose text is its name and the epsilon.
[[nodiscard]] inline RuleTitle titleOf(std::string_view name, std::vector<ops::StructureKind> structures,
                                       const Stabiliser& stabiliser)
{
    return {name, std::move(structures), toParameters(stabiliser),
            std::string(name) + ", epsilon " + textOf(stabiliser)};
}

/// Every structure that relevance passes.
[[nodiscard]] inline bool passesRelevance(const ops::Structure& structure)
{
    return structure.kind() != ops::StructureKind::NoRelevance;
}

/// One parameter more.
[[nodiscard]] inline RuleParameters withParameter(RuleParameters parameters, std::string_view name, RuleParameter value)
{
    parameters.insert_or_assign(std::string(name), std::move(value));
    return parameters;
}

/// A rule that says who it is when it is made.
class TitledRule : public Rule, public LinearRule
{
public:
    [[nodiscard]] std::string_view name() const final { return m_title.name; }
    [[nodiscard]] std::string text() const final
    {
        return m_title.text.empty() ? std::string(m_title.name) : m_title.text;
    }
    [[nodiscard]] RuleParameters parameters() const final { return m_title.parameters; }
    [[nodiscard]] bool accepts(const ops::Structure& structure) const override
    {
        return std::ranges::find(m_title.structures, structure.kind()) != m_title.structures.end() ||
               (m_title.isFor != nullptr && m_title.isFor(structure));
    }
    [[nodiscard]] bool isLinear() const override { return m_title.isLinear; }

protected:
    explicit TitledRule(RuleTitle title) : m_title(std::move(title)) {}

private:
    RuleTitle m_title;
};

} // namespace retro::lrp
