// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/composite/composite.h"

#include "core/base/cancel.h"
#include "core/base/result.h"
#include "core/execute/boundmodel.h"
#include "core/graph/modulename.h"
#include "core/graph/reach.h"
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
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace retro::lrp
{

using execute::BoundModel;
using execute::NodeId;
using execute::ValueId;
using ops::StructureKind;

namespace
{

/// The first layer of a composite (docs/composites.md, "The first layer").
struct FirstLayer
{
    /// The linear map; where it lies in the steps of an operator, all maps of the operator that read what it reads.
    std::vector<base::NodeId> maps;
    /// An operator that is taken apart and has it inside; `maps` are then of its steps and not known here.
    base::NodeId whole;
};

/// What is asked of a node: that it is a linear map which the matcher can mean.
using FitsNode = std::function<bool(const execute::BoundModel&, base::NodeId)>;

/// Names of the operators that a rewrite wrote out in steps: their nodes are named NAME/….
std::vector<std::string> writtenOut(const rewrite::Rewritten& rewritten)
{
    std::vector<std::string> names;
    for (const rewrite::RewriteStep& step : rewritten.steps) {
        if (step.name == "expand-functions" && !step.isNote && step.removed != step.added) {
            names.push_back(step.removed.front());
        }
    }
    return names;
}

/// Among the nodes of a graph; 0 for one that it does not have.
std::size_t placeIn(const graph::Graph& graph, const std::string& name)
{
    const auto found = graph.findNode(name);
    return found ? found->index() : 0;
}

/// The steps of one operator in a graph that has them as nodes of their own: NAME/….
class WrittenOut
{
public:
    WrittenOut(const rewrite::Rewritten& rewritten, std::string name)
        : m_before(*rewritten.before), m_name(std::move(name)), m_prefix(m_name + "/")
    {}

    [[nodiscard]] bool has(const graph::Node& node) const
    {
        return node.name.starts_with(m_prefix) && !m_before.findNode(node.name);
    }
    /// Of the operator, among the nodes of the file.
    [[nodiscard]] std::size_t place() const { return placeIn(m_before, m_name); }

private:
    const graph::Graph& m_before;
    std::string m_name;
    std::string m_prefix;
};

/// The linear maps of an operator's steps that read what comes from outside, through no other of them. `isInside`: of
/// the nodes of `model` that are its steps.
std::vector<NodeId> readingMaps(const BoundModel& model, const FitsNode& fits,
                                const std::function<bool(NodeId)>& isInside)
{
    const graph::Graph& graph = model.graph();
    std::vector<bool> isFromOutside(graph.valueCount(), false);
    std::vector<NodeId> maps;
    const auto reads = [&](ValueId value) {
        const bool isTracked = value.isValid() && model.isTracked(value);
        const NodeId maker = isTracked ? graph.nodeOf(value) : NodeId();
        return isTracked && (graph.isInput(maker) || !isInside(maker) || isFromOutside[value.index()]);
    };
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        const NodeId id(i);
        const graph::Node& node = graph.node(id);
        if (!isInside(id) || std::ranges::none_of(node.inputs, reads)) {
            continue;
        }
        if (fits(model, id)) {
            maps.push_back(id);
            continue;
        }
        for (const ValueId output : node.outputs) {
            if (output.isValid()) {
                isFromOutside[output.index()] = true;
            }
        }
    }
    return maps;
}

/// True where the operator is taken apart and a linear map inside fits.
bool hasInside(const BoundModel& model, NodeId id, const FitsNode& fits)
{
    if (model.op(id).structure().kind() != ops::StructureKind::Composed) {
        return false;
    }
    const base::Result<rewrite::FunctionBody> body = bodyOf(model, id);
    if (!body) {
        return false;
    }
    std::vector<ops::TensorType> types;
    for (const std::size_t slot : body->operands) {
        types.push_back(model.typeOf(model.graph().node(id).inputs[slot]));
    }
    const auto inside = BoundModel::bind(body->graph, types, execute::insideOf(model.precision()));
    return inside.ok() && !readingMaps(**inside, fits, [](NodeId) { return true; }).empty();
}

/// `first` or, where it is a step of an operator that was written out, all maps of that operator which read what it
/// reads; those of another operator that stood before it in the file, whose steps stand behind it now.
FirstLayer inPlaceOrder(const BoundModel& model, NodeId first, const FitsNode& fits,
                        const rewrite::Rewritten* rewritten)
{
    const graph::Graph& graph = model.graph();
    FirstLayer found{{first}, {}};
    std::vector<WrittenOut> operators;
    for (std::string& name : rewritten == nullptr ? std::vector<std::string>() : writtenOut(*rewritten)) {
        operators.emplace_back(*rewritten, std::move(name));
    }
    const auto isInside = [&](const WrittenOut& steps) { return steps.has(graph.node(first)); };
    const auto holder = std::ranges::find_if(operators, isInside);
    std::size_t place = holder != operators.end() ? holder->place()
                        : operators.empty()       ? 0
                                                  : placeIn(*rewritten->before, graph.node(first).name);
    for (const WrittenOut& steps : operators) {
        std::vector<NodeId> maps = readingMaps(model, fits, [&](NodeId id) { return steps.has(graph.node(id)); });
        if (!maps.empty() && (steps.place() < place || (isInside(steps) && steps.place() == place))) {
            found.maps = std::move(maps);
            place = steps.place();
        }
    }
    return found;
}

/// Where the first layer lies. `isBelow` per node: it depends on the input that the layer is looked for from. Operators
/// that `rewritten` (may be null) wrote out in steps count as whole ones.
FirstLayer firstLayer(const BoundModel& model, const std::vector<bool>& isBelow, const FitsNode& fits,
                      const rewrite::Rewritten* rewritten)
{
    const graph::Graph& graph = model.graph();
    const FitsNode fitsBelow = [&](const BoundModel& of, NodeId id) { return isBelow[id.index()] && fits(of, id); };
    std::optional<NodeId> first;
    for (std::size_t i = 0; i < graph.nodeCount() && !first; ++i) {
        if (isBelow[i] && hasInside(model, NodeId(i), fits)) {
            return {{}, NodeId(i)};
        }
        if (fitsBelow(model, NodeId(i))) {
            first = NodeId(i);
        }
    }
    return first ? inPlaceOrder(model, *first, fitsBelow, rewritten) : FirstLayer();
}

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

/// `outer` as the graph has it ("layer1/layer1.0"), with or without a slash in front, or as PyTorch names modules
/// ("layer1.0").
bool isWithin(const graph::Node& node, std::string_view outer)
{
    outer.remove_prefix(outer.starts_with('/') ? 1 : 0);
    const auto contains = [outer](std::string_view scope, char mark) {
        return scope.starts_with(outer) && (scope.size() == outer.size() || scope[outer.size()] == mark);
    };
    return contains(node.scope, '/') || contains(graph::moduleOf(node), '.');
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
    if (!matcher.scope.empty() && !isWithin(node, matcher.scope)) {
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
