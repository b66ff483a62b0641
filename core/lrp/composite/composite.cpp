// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/composite/composite.h"

#include "core/base/cancel.h"
#include "core/base/result.h"
#include "core/execute/boundmodel.h"
#include "core/graph/reach.h"
#include "core/lrp/composite/firstlayer.h"
#include "core/lrp/composite/softmaxshift.h"
#include "core/lrp/rules/decomposedrule.h"
#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/rules/rules.h"
#include "core/lrp/traversal/operandorigin.h"
#include "core/ops/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::lrp
{

using execute::BoundModel;
using execute::NodeId;
using ops::StructureKind;

namespace
{

using execute::ValueId;

/// Per node: true when it depends on the graph input `name`; on any, when `name` is empty. What the first layer of a
/// composite is looked for among (docs/composites.md, "The first layer"). Errors (Usage): the graph has no input of
/// that name; the message lists those it has.
base::Result<std::vector<bool>> nodesBelowInput(const BoundModel& model, const std::string& name)
{
    const graph::Graph& graph = model.graph();
    std::vector<bool> isBelow(graph.nodeCount(), name.empty());
    if (name.empty()) {
        return isBelow;
    }
    const auto inputs = graph.inputs();
    const auto start = std::ranges::find_if(inputs, [&](ValueId input) { return graph.value(input).name == name; });
    if (start == inputs.end()) {
        std::vector<std::string> known;
        std::ranges::transform(inputs, std::back_inserter(known),
                               [&](ValueId input) { return "\"" + graph.value(input).name + "\""; });
        return base::usageError(
            fmt::format("\"first\" asks for the first layer from the input \"{}\", which the model does not have; "
                        "its inputs are {}",
                        name, fmt::join(known, ", ")),
            "composite");
    }
    return graph::descendantsOf(graph, std::array{*start}).nodes;
}

// * stands for any text, ? for one byte; without recursion.
bool matchesGlob(std::string_view glob, std::string_view text)
{
    std::size_t g = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos; // last * seen, and the text it has taken so far
    std::size_t taken = 0;
    while (t < text.size()) {
        if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t]) && glob[g] != '*') {
            ++g;
            ++t;
        } else if (g < glob.size() && glob[g] == '*') {
            star = g++;
            taken = t;
        } else if (star != std::string_view::npos) {
            g = star + 1;
            t = ++taken;
        } else {
            return false;
        }
    }
    return glob.find_first_not_of('*', g) == std::string_view::npos;
}

bool isWithin(std::string_view scope, std::string_view outer)
{
    return scope == outer || (scope.starts_with(outer) && scope.size() > outer.size() && scope[outer.size()] == '/');
}

bool passesRelevance(const BoundModel& model, NodeId id)
{
    const std::vector<execute::ValueId>& outputs = model.graph().node(id).outputs;
    return std::any_of(outputs.begin(), outputs.end(),
                       [&model](execute::ValueId output) { return output.isValid() && model.isTracked(output); });
}

// All fields but firstWeight and firstFrom.
bool matchesFields(const Matcher& matcher, const BoundModel& model, NodeId id)
{
    const graph::Node& node = model.graph().node(id);
    if (!matcher.ops.empty() && std::find(matcher.ops.begin(), matcher.ops.end(), node.op) == matcher.ops.end()) {
        return false;
    }
    if (matcher.structure && *matcher.structure != model.op(id).structure().kind()) {
        return false;
    }
    if (!matcher.nameGlob.empty() && !matchesGlob(matcher.nameGlob, node.name)) {
        return false;
    }
    if (!matcher.scope.empty() && !isWithin(node.scope, matcher.scope)) {
        return false;
    }
    return matcher.operandFrom.empty() || comesFrom(model, id, matcher.operand, matcher.operandFrom);
}

// The nodes that a firstWeight matcher stands for.
base::Result<FirstLayer> firstLayerOf(const Matcher& matcher, const BoundModel& model,
                                      const rewrite::Rewritten* rewritten)
{
    const auto fits = [&matcher](const BoundModel& of, NodeId id) {
        return passesRelevance(of, id) && of.op(id).structure().kind() == StructureKind::LinearMap &&
               matchesFields(matcher, of, id);
    };
    if (matcher.isInside) {
        return FirstLayer{readingMaps(model, fits, [](NodeId) { return true; }), {}};
    }
    RETRO_TRY(const std::vector<bool> isBelow, nodesBelowInput(model, matcher.firstFrom));
    return firstLayer(model, isBelow, fits, rewritten);
}

// Per entry: the nodes of a firstWeight matcher; none for others.
base::Result<std::vector<FirstLayer>> firstLayersOf(const Composite& composite, const BoundModel& model,
                                                    const rewrite::Rewritten* rewritten)
{
    std::vector<FirstLayer> layers(composite.entries.size());
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (composite.entries[i].matcher.firstWeight) {
            RETRO_TRY(layers[i], firstLayerOf(composite.entries[i].matcher, model, rewritten));
        }
    }
    return layers;
}

/// The entries of a composite, ready to be asked node by node.
class Assigner
{
public:
    Assigner(const Composite& composite, const BoundModel& model, std::span<const rewrite::FusedNode> fused,
             std::vector<FirstLayer> firstLayers, EntryUse* use)
        : m_composite(composite), m_model(model), m_fused(fused), m_use(use), m_firstLayers(std::move(firstLayers))
    {}

    [[nodiscard]] base::Result<AssignedRule> assign(NodeId id) const
    {
        const CompositeEntry* entry = find(id);
        bookUse(id, entry);
        if (entry == nullptr) {
            return base::inputError(
                fmt::format("no entry of the composite \"{}\" matches this node; add one with one of the rules {}",
                            m_composite.name, rulesFor(id)),
                placeOf(id));
        }
        if (!entry->rule->accepts(m_model.op(id).structure())) {
            return base::inputError(fmt::format("the rule \"{}\" (chosen by \"{}\") is not defined for this structure; "
                                                "add an entry before it with one of the rules {}",
                                                entry->rule->name(), entry->matcher.text(), rulesFor(id)),
                                    placeOf(id));
        }
        if (const std::string misfit = misfitOf(*entry->rule, id); !misfit.empty()) {
            return base::inputError(fmt::format("the rule \"{}\" (chosen by \"{}\") {}", entry->rule->name(),
                                                entry->matcher.text(), misfit),
                                    placeOf(id));
        }
        if (const auto x = shiftOf(*entry, id)) {
            return AssignedRule{signalTakesAllRule(*x, {}), "shift of a softmax over groups"};
        }
        if (!isDecomposed(*entry->rule)) {
            return AssignedRule{entry->rule, entry->matcher.text(), entry->matcher.firstWeight};
        }
        base::Result<RulePointer> rule = bindDecomposed(inside(id), m_model, id, membersOf(id), m_use);
        return rule.ok() ? AssignedRule{std::move(rule).value(), entry->matcher.text()} : refused(rule.error(), id);
    }

private:
    [[nodiscard]] std::string misfitOf(const Rule& rule, NodeId id) const { return lrp::misfitOf(rule, m_model, id); }

    // The operand that takes all of a sum which only shifts a softmax; nothing for rules that share no sum.
    [[nodiscard]] std::optional<std::size_t> shiftOf(const CompositeEntry& entry, NodeId id) const
    {
        static constexpr std::array<std::string_view, 3> kSharing{"norm", "abs-ratio", "uniform"};
        const Matcher& matcher = entry.matcher;
        const bool isForAll = entry.origin != EntryOrigin::Override && matcher.ops.empty() &&
                              matcher.nameGlob.empty() && matcher.scope.empty() && matcher.operandFrom.empty();
        const bool isShared = isForAll && m_model.op(id).structure().kind() == StructureKind::SumOfOperands &&
                              std::ranges::find(kSharing, entry.rule->name()) != kSharing.end();
        return isShared ? shiftedOperand(m_model, id) : std::nullopt;
    }

    // The entries for the nodes inside one: those for the first layer where that lies there.
    [[nodiscard]] Composite inside(NodeId id) const
    {
        Composite inner = m_composite;
        inner.entries.clear();
        for (std::size_t i = 0; i < m_composite.entries.size(); ++i) {
            CompositeEntry entry = m_composite.entries[i];
            entry.matcher.isInside = entry.matcher.firstWeight;
            if (!entry.matcher.firstWeight || m_firstLayers[i].whole == id) {
                inner.entries.push_back(std::move(entry));
            }
        }
        return inner;
    }

    // The members of a node that a rewrite made; null for others.
    [[nodiscard]] const graph::Graph* membersOf(NodeId id) const
    {
        const std::string& name = m_model.graph().node(id).name;
        const auto at =
            std::find_if(m_fused.begin(), m_fused.end(), [&](const rewrite::FusedNode& f) { return f.node == name; });
        return at == m_fused.end() ? nullptr : at->members.get();
    }

    [[nodiscard]] base::Result<AssignedRule> refused(base::Error error, NodeId id) const
    {
        if (error.where.empty()) {
            error.message += "; add an entry before it with one of the rules gradient, stop";
            error.where = placeOf(id);
            return error;
        }
        return base::within(std::move(error), fmt::format("inside {}", placeOf(id)));
    }

    [[nodiscard]] bool matches(std::size_t i, NodeId id) const
    {
        const Matcher& matcher = m_composite.entries[i].matcher;
        const std::vector<NodeId>& maps = m_firstLayers[i].maps;
        return matcher.firstWeight ? std::ranges::find(maps, id) != maps.end() : matchesFields(matcher, m_model, id);
    }

    [[nodiscard]] const CompositeEntry* find(NodeId id) const
    {
        for (std::size_t i = 0; i < m_composite.entries.size(); ++i) {
            if (matches(i, id)) {
                return &m_composite.entries[i];
            }
        }
        return nullptr;
    }

    void bookUse(NodeId id, const CompositeEntry* chosen) const
    {
        if (m_use == nullptr) {
            return;
        }
        if (chosen != nullptr && chosen->origin != EntryOrigin::Builtin) {
            m_use->chosen.insert(chosen->written);
        }
        for (std::size_t i = 0; i < m_composite.entries.size(); ++i) {
            const CompositeEntry& entry = m_composite.entries[i];
            const bool isAsked = entry.origin != EntryOrigin::Builtin && !m_use->matched.contains(entry.written);
            if (isAsked && matches(i, id)) {
                m_use->matched.insert(entry.written);
            }
        }
    }

    [[nodiscard]] std::string rulesFor(NodeId id) const
    {
        std::vector<std::string_view> names;
        for (const std::string_view name : ruleNames()) {
            const base::Result<RulePointer> rule = makeRule(name, {});
            if (rule.ok() && (*rule)->accepts(m_model.op(id).structure()) && misfitOf(**rule, id).empty()) {
                names.push_back(name);
            }
        }
        return fmt::format("{}", fmt::join(names, ", "));
    }

    [[nodiscard]] std::string placeOf(NodeId id) const
    {
        return fmt::format("node \"{}\" ({}, {})", m_model.graph().labelOf(id), m_model.graph().opOf(id),
                           ops::nameOf(m_model.op(id).structure().kind()));
    }

    const Composite& m_composite;
    const BoundModel& m_model;
    std::span<const rewrite::FusedNode> m_fused;
    EntryUse* m_use;
    std::vector<FirstLayer> m_firstLayers; // per entry
};

/// Nodes that are named before the rest is only counted.
constexpr std::size_t kNamedRefusals = 6;

/// What is said of the refused nodes after the first one; empty when there are none.
std::string othersText(std::span<const std::string> others)
{
    if (others.empty()) {
        return {};
    }
    const std::size_t named = std::min(others.size(), kNamedRefusals);
    std::string text = fmt::format("; {} more {} refused: {}", others.size(),
                                   others.size() == 1 ? "node is" : "nodes are", fmt::join(others.first(named), ", "));
    return named < others.size() ? text + fmt::format(" and {} more", others.size() - named) : text;
}

std::string firstText(const Matcher& matcher)
{
    const std::string which =
        matcher.ops.empty() ? "first linear map" : fmt::format("first {}", fmt::join(matcher.ops, ", "));
    return matcher.firstFrom.empty() ? which : fmt::format("{} from input \"{}\"", which, matcher.firstFrom);
}

std::string originText(const Matcher& matcher)
{
    const std::string which = matcher.operand ? fmt::format("operand {}", *matcher.operand) : std::string("an operand");
    return fmt::format("{} from {}", which, fmt::join(matcher.operandFrom, ", "));
}

bool isOperator(const std::string& name)
{
    return std::ranges::any_of(ops::declarations(), [&name](const auto& one) { return one.op == name; });
}

// By a structure, of operators that exist.
bool isForAnyModel(const Matcher& matcher)
{
    return matcher.nameGlob.empty() && matcher.scope.empty() && matcher.firstFrom.empty() && matcher.structure &&
           std::ranges::all_of(matcher.ops, isOperator) && std::ranges::all_of(matcher.operandFrom, isOperator);
}

} // namespace

std::string Matcher::text() const
{
    std::vector<std::string> parts;
    if (firstWeight) {
        parts.push_back(firstText(*this));
    } else if (!ops.empty()) {
        parts.push_back(fmt::format("op {}", fmt::join(ops, ", ")));
    }
    if (structure) {
        parts.push_back(fmt::format("structure {}", retro::ops::nameOf(*structure)));
    }
    if (!nameGlob.empty()) {
        parts.push_back("name " + nameGlob);
    }
    if (!scope.empty()) {
        parts.push_back("scope " + scope);
    }
    if (!operandFrom.empty()) {
        parts.push_back(originText(*this));
    }
    return parts.empty() ? std::string("everything") : fmt::format("{}", fmt::join(parts, " and "));
}

base::Result<RuleAssignment> assignRules(const Composite& composite, const BoundModel& model,
                                         std::span<const rewrite::FusedNode> fused, const std::stop_token& stop,
                                         EntryUse* use, const rewrite::Rewritten* rewritten)
{
    RETRO_TRY(std::vector<FirstLayer> firstLayers, firstLayersOf(composite, model, rewritten));
    const Assigner assigner(composite, model, fused, std::move(firstLayers), use);
    RuleAssignment assignment(model.graph().nodeCount());
    std::optional<base::Error> first;
    std::vector<std::string> others;
    for (std::size_t i = 0; i < assignment.size(); ++i) {
        RETRO_CHECK(base::checkStop(stop));
        if (!passesRelevance(model, NodeId(i))) {
            continue;
        }
        base::Result<AssignedRule> rule = assigner.assign(NodeId(i));
        if (rule) {
            assignment[i] = std::move(rule).value();
        } else if (!first) {
            first = std::move(rule).error();
        } else {
            others.push_back(
                fmt::format("\"{}\" ({})", model.graph().labelOf(NodeId(i)), model.graph().opOf(NodeId(i))));
        }
    }
    if (first) {
        first->message += othersText(others);
        return *std::move(first);
    }
    return assignment;
}

std::vector<std::string> unusedEntries(const Composite& composite, const EntryUse& use)
{
    std::vector<std::string> sentences;
    for (const CompositeEntry& entry : composite.entries) {
        const bool isOverride = entry.origin == EntryOrigin::Override;
        const bool isMissing = entry.origin != EntryOrigin::Builtin && !use.matched.contains(entry.written) &&
                               (isOverride || !isForAnyModel(entry.matcher));
        const bool isShadowed = isOverride && !isMissing && !use.chosen.contains(entry.written);
        if (isMissing) {
            sentences.push_back(
                fmt::format("{} ({}, rule {}) matches no node that relevance passes, and changes nothing",
                            entry.written, entry.matcher.text(), entry.rule->text()));
        } else if (isShadowed) {
            sentences.push_back(
                fmt::format("{} changes nothing: every node that it matches has a rule from before it", entry.written));
        }
    }
    return sentences;
}

} // namespace retro::lrp
