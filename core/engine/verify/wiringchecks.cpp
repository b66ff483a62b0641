// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/wiringchecks.h"

#include "core/analysis/criticalsubgraph.h"
#include "core/engine/verify/reversecourse.h"
#include "core/tape/loops.h"
#include "core/tape/model/modeltape.h"
#include "core/tape/scalar/flag.h"
#include "core/tape/tape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <queue>
#include <random>
#include <ranges>
#include <utility>
#include <vector>

namespace retro::engine
{

using tape::Array;
using tape::Id;
using tape::ModelTape;
using tape::Modular;

namespace
{

/// Σ cᵢ·xᵢ and its transpose.
template <class K>
class LinearMap final : public tape::Operator<tape::Array<K>>
{
public:
    explicit LinearMap(std::vector<K> coefficients) : m_coefficients(std::move(coefficients)) {}

    /// One number, from one number of each operand.
    [[nodiscard]] base::Result<tape::Array<K>> forward(tape::Operands<tape::Array<K>> operands,
                                                       const tape::Payload<tape::Array<K>>&) const override
    {
        K sum(0);
        for (std::size_t i = 0; i < operands.size(); ++i) {
            sum += m_coefficients[i] * operands[i]->data.front();
        }
        return tape::scalarArray(sum);
    }
    /// cᵢ times the one number that arrived, for each operand.
    [[nodiscard]] base::Result<tape::Parts<tape::Array<K>>> reverse(const tape::Site<tape::Array<K>>&,
                                                                    const tape::Array<K>& upstream) const override
    {
        tape::Parts<tape::Array<K>> parts;
        for (const K& coefficient : m_coefficients) {
            parts.push_back(tape::scalarArray(coefficient * upstream.data.front()));
        }
        return parts;
    }

private:
    std::vector<K> m_coefficients;
};

/// One linear map per node; `coefficients(count)` is asked for each in turn.
template <class K, class Coefficients>
[[nodiscard]] tape::NodeList<tape::Array<K>> linearNodes(const WiringCase& wiring, const Coefficients& coefficients)
{
    tape::NodeList<tape::Array<K>> nodes;
    for (const std::vector<tape::Id>& parents : wiring.parents) {
        nodes.push_back({std::make_shared<LinearMap<K>>(coefficients(parents.size())), parents});
    }
    return nodes;
}

/// The tape of such maps with one number per leaf; parents must be earlier.
template <class K>
[[nodiscard]] tape::Tape<tape::Array<K>> compiledOver(const tape::NodeList<tape::Array<K>>& nodes,
                                                      const std::vector<K>& leaves)
{
    std::vector<tape::Array<K>> values;
    for (const K& leaf : leaves) {
        values.push_back(tape::scalarArray(leaf));
    }
    return tape::compile(nodes, std::move(values)).value();
}

using tape::Flag;

constexpr std::size_t kMostEarlierTargets = 64;

/// What tape and graph tell differently of what reaches a target; an empty text = nothing.
using WrongFrom = Counterexample (*)(const ModelTape& made, Id target);

/// Slots of a reverse pass that starts with 1 and hands on to every operand what arrives.
template <class K>
std::vector<tape::Array<K>> handedOn(const ModelTape& made, Id target)
{
    const auto nodes =
        linearNodes<K>(wiringOf(made, target), [](std::size_t count) { return std::vector<K>(count, K(1)); });
    const auto tape = compiledOver(nodes, std::vector<K>(made.tape.leafCount(), K(1)));
    return tape::denseLoop<tape::Array<K>>(tape, tape::oneSeed(tape, target, tape::scalarArray(K(1)))).value();
}

/// By id: what a target is made of, told by the cone of the graph. Cells of one node are reached together.
std::vector<bool> coneInGraph(const ModelTape& made, Id target)
{
    const graph::Graph& graph = made.model->graph();
    const analysis::Flow flow = analysis::flowOf(graph, [](base::NodeId, std::size_t) { return true; });
    const std::array<analysis::FlowName, 1> outputs{made.valueOf[target].value};
    std::vector<bool> isNode(graph.nodeCount(), false);
    std::vector<bool> reached(made.tape.size(), false);
    reached[target] = true;
    for (const std::uint32_t node : analysis::criticalSubgraph(flow, outputs, {}).backwardCone) {
        isNode[node] = true;
        for (const base::ValueId operand : graph.nodes()[node].inputs | std::views::filter(&base::ValueId::isValid)) {
            reached[made.idOf[operand.index()]] = true;
        }
    }
    for (Id id = static_cast<Id>(made.tape.leafCount()); id < reached.size(); ++id) {
        reached[id] = isNode[made.nodeOf[id].index()];
    }
    return reached;
}

std::vector<bool> coneOnTape(const ModelTape& made, Id target)
{
    const std::vector<tape::Array<Flag>> arrived = handedOn<Flag>(made, target);
    std::vector<bool> isNode(made.model->graph().nodeCount(), false);
    std::vector<bool> reached;
    for (Id id = 0; id < arrived.size(); ++id) {
        const bool isSet = arrived[id].data.front().isSet;
        reached.push_back(isSet);
        if (isSet && made.nodeOf[id].isValid()) {
            isNode[made.nodeOf[id].index()] = true;
        }
    }
    for (Id id = static_cast<Id>(made.tape.leafCount()); id < reached.size(); ++id) {
        reached[id] = isNode[made.nodeOf[id].index()];
    }
    return reached;
}

Counterexample wrongReach(const ModelTape& made, Id target)
{
    const std::vector<bool> onTape = coneOnTape(made, target);
    const std::vector<bool> inGraph = coneInGraph(made, target);
    for (Id id = static_cast<Id>(made.tape.size()); id-- > 0;) {
        if (onTape[id] != inGraph[id]) {
            return {fmt::format("only the {} reaches {}", onTape[id] ? "tape" : "graph", nodeAt(made, id)),
                    nodeAt(made, id)};
        }
    }
    return {};
}

/// Ways from the target back to every value, counted on the graph and not on the tape.
std::vector<Modular> pathCounts(const graph::Graph& graph, base::ValueId target)
{
    std::vector<Modular> counts(graph.valueCount(), Modular(0));
    counts[target.index()] = 1;
    for (std::size_t node = graph.nodeCount(); node-- > 0;) {
        Modular ways(0);
        for (const base::ValueId output : graph.nodes()[node].outputs | std::views::filter(&base::ValueId::isValid)) {
            ways += counts[output.index()];
        }
        for (const base::ValueId input : graph.nodes()[node].inputs | std::views::filter(&base::ValueId::isValid)) {
            counts[input.index()] += ways;
        }
    }
    return counts;
}

Counterexample wrongPaths(const ModelTape& made, Id target)
{
    const std::vector<tape::Array<Modular>> arrived = handedOn<Modular>(made, target);
    const std::vector<Modular> counts = pathCounts(made.model->graph(), made.valueOf[target]);
    for (Id id = static_cast<Id>(arrived.size()); id-- > 0;) {
        const base::ValueId value = made.valueOf[id];
        if (value.isValid() && !(arrived[id].data.front() == counts[value.index()])) {
            return {fmt::format("{} ways by the tape, {} by the graph, from {}", arrived[id].data.front().value(),
                                counts[value.index()].value(), made.nameOf(id)),
                    nodeAt(made, id)};
        }
    }
    return {};
}

/// The operands of a cell, in the graph: those of its node, or the cell that holds all results of it.
std::vector<Id> operandsInGraph(const ModelTape& made, Id id)
{
    Id first = id;
    while (first > made.tape.leafCount() && made.nodeOf[first - 1] == made.nodeOf[id]) {
        --first;
    }
    if (first != id) {
        return {first};
    }
    std::vector<Id> operands;
    const std::vector<base::ValueId>& inputs = made.model->graph().node(made.nodeOf[id]).inputs;
    for (const base::ValueId operand : inputs | std::views::filter(&base::ValueId::isValid)) {
        operands.push_back(made.idOf[operand.index()]);
    }
    return operands;
}

/// Cells up to a target that are values, those first that read what they do not read in the graph.
std::vector<Id> earlierTargets(const ModelTape& made, Id target)
{
    std::vector<Id> all;
    for (const bool isRewired : {true, false}) {
        for (auto id = static_cast<Id>(made.tape.leafCount()); id <= target && all.size() < kMostEarlierTargets; ++id) {
            const bool differs = made.tape.cell(id).node.parents != operandsInGraph(made, id);
            if (made.valueOf[id].isValid() && differs == isRewired) {
                all.push_back(id);
            }
        }
    }
    return all;
}

/// "bent = f(x) on the tape and f(square) in the graph".
std::string operandsText(const ModelTape& made, Id id)
{
    const auto text = [&made](const std::vector<Id>& operands) {
        std::vector<std::string> names;
        std::ranges::transform(operands, std::back_inserter(names), [&made](Id one) { return made.nameOf(one); });
        return fmt::format("f({})", fmt::join(names, ", "));
    };
    const std::string onTape = text(made.tape.cell(id).node.parents);
    const std::string inGraph = text(operandsInGraph(made, id));
    return made.nameOf(id) + " = " +
           (onTape == inGraph ? onTape : onTape + " on the tape and " + inGraph + " in the graph");
}

/// A counterexample with the earliest target found that shows one: what that one reads is the same on both but for
/// itself.
Counterexample withEarliestTarget(const ModelTape& made, Id target, WrongFrom wrongFrom)
{
    Counterexample found = wrongFrom(made, target);
    for (const Id id : found.text.empty() ? std::vector<Id>() : earlierTargets(made, target)) {
        const Counterexample smaller = wrongFrom(made, id);
        if (!smaller.text.empty()) {
            return {fmt::format("{}; smallest case: from {}, {}", found.text, operandsText(made, id), smaller.text),
                    nodeAt(made, id)};
        }
    }
    return found;
}

/// P13 and P14: what a reverse pass over flags reaches from `target`, and how many ways a pass over counts finds
/// (modulo 2⁶¹ − 1), against the graph that the tape was made of. A violated one names the earliest target found that
/// shows it, with its operands on the tape and in the graph. Linear in the cells; a few dozen times that when violated.
PropertyResults checkWays(const ModelTape& made, Id target)
{
    return {judged("P13", "over flags, a slot is set where its id reaches the seed",
                   withEarliestTarget(made, target, wrongReach), "against the backward cone of the graph"),
            judged("P14", "over counts, a slot holds the number of ways from its id to the seed",
                   withEarliestTarget(made, target, wrongPaths), "modulo 2⁶¹ − 1, against ways counted on the graph")};
}

using Number = Array<Modular>;

/// Other orders of the nodes that are tried; the first is another one wherever there is one.
constexpr std::size_t kOrders = 3;

class Drawer
{
public:
    explicit Drawer(std::uint64_t seed) : m_engine(seed) {}
    Modular number() { return Modular(static_cast<std::int64_t>(m_engine() >> 2)); }
    std::vector<Modular> numbers(std::size_t count)
    {
        std::vector<Modular> list;
        std::generate_n(std::back_inserter(list), count, [this] { return number(); });
        return list;
    }
    /// Numbers that add up to 1.
    std::vector<Modular> shares(std::size_t count)
    {
        std::vector<Modular> list = numbers(count);
        if (!list.empty()) {
            Modular sum(0);
            std::for_each(list.begin() + 1, list.end(), [&sum](Modular one) { sum += one; });
            list.front() = Modular(1) - sum;
        }
        return list;
    }

private:
    std::mt19937_64 m_engine;
};

std::vector<Number> seedOf(std::size_t count, Drawer& drawer)
{
    std::vector<Number> seed;
    for (const Modular& number : drawer.numbers(count)) {
        seed.push_back(tape::scalarArray(number));
    }
    return seed;
}

/// The maps of a property over integers, as they are or as `change` makes them.
tape::NodeList<Number> mapsOf(const WiringCase& wiring, const ChangedMap& change,
                              const std::function<std::vector<Modular>(std::size_t)>& coefficients)
{
    tape::NodeList<Number> nodes = linearNodes<Modular>(wiring, coefficients);
    for (std::size_t i = 0; change && i < nodes.size(); ++i) {
        nodes[i].op = change(wiring.names[wiring.leaves + i], nodes[i].op);
    }
    return nodes;
}

std::string wrongAdjoint(const WiringCase& wiring, std::uint64_t seed, const ChangedMap& change)
{
    Drawer drawer(seed);
    const auto nodes = mapsOf(wiring, change, [&](std::size_t count) { return drawer.numbers(count); });
    const std::vector<Modular> direction = drawer.numbers(wiring.leaves);
    const auto tangents = compiledOver(nodes, direction); // of linear maps: the same maps
    const std::vector<Number> start = seedOf(wiring.size(), drawer);
    const std::vector<Number> arrived = tape::denseLoop<Number>(tangents, start).value();
    Modular left(0);
    Modular right(0);
    for (Id id = 0; id < tangents.size(); ++id) {
        left += tangents.cell(id).value.data.front() * start[id].data.front();
        right += id < direction.size() ? direction[id] * arrived[id].data.front() : Modular(0);
    }
    return left == right ? "" : fmt::format("{} and {}", left.value(), right.value());
}

/// Per node the nodes that read it, and how many operands are still missing; leaves are there from the start.
struct OpenNodes
{
    std::vector<std::vector<Id>> readers;
    std::vector<std::size_t> missing;
};

OpenNodes openNodes(const WiringCase& wiring)
{
    const auto leaves = static_cast<Id>(wiring.leaves);
    OpenNodes open{std::vector<std::vector<Id>>(wiring.size()), std::vector<std::size_t>(wiring.size(), 0)};
    for (Id id = leaves; id < wiring.size(); ++id) {
        for (const Id parent : wiring.parents[id - leaves]) {
            if (parent >= leaves) {
                open.readers[parent].push_back(id);
                ++open.missing[id];
            }
        }
    }
    return open;
}

/// Of the nodes whose operands are there the one of the highest rank comes next: newId per old id, leaves stay.
std::vector<Id> orderedBy(const WiringCase& wiring, const std::vector<std::uint64_t>& ranks)
{
    const auto leaves = static_cast<Id>(wiring.leaves);
    OpenNodes open = openNodes(wiring);
    std::priority_queue<std::pair<std::uint64_t, Id>> ready;
    std::vector<Id> newId(wiring.size());
    for (Id id = leaves; id < wiring.size(); ++id) {
        if (open.missing[id] == 0) {
            ready.emplace(ranks[id], id);
        }
    }
    std::iota(newId.begin(), newId.begin() + leaves, Id{0});
    for (Id next = leaves; !ready.empty(); ++next) {
        const Id picked = ready.top().second;
        ready.pop();
        newId[picked] = next;
        for (const Id reader : open.readers[picked]) {
            if (--open.missing[reader] == 0) {
                ready.emplace(ranks[reader], reader);
            }
        }
    }
    return newId;
}

/// The latest node first, wherever there is a choice: another order than the given one, if there is another at all.
std::vector<Id> latestFirst(const WiringCase& wiring)
{
    std::vector<std::uint64_t> ranks(wiring.size());
    std::iota(ranks.begin(), ranks.end(), std::uint64_t{0});
    return orderedBy(wiring, ranks);
}

bool hasOneOrder(const WiringCase& wiring)
{
    const std::vector<Id> order = latestFirst(wiring);
    return std::ranges::is_sorted(order);
}

/// Nodes with what leaves and seeds they are given.
struct GivenNodes
{
    tape::NodeList<Number> nodes;
    std::vector<Modular> values;
    std::vector<Number> start;
};

/// The same nodes in another order.
GivenNodes reordered(const GivenNodes& given, const std::vector<Id>& newId)
{
    GivenNodes other = given;
    const std::size_t leaves = given.values.size();
    for (std::size_t i = 0; i < given.nodes.size(); ++i) {
        tape::Node<Number> node = given.nodes[i];
        std::ranges::for_each(node.parents, [&newId](Id& parent) { parent = newId[parent]; });
        other.nodes[newId[leaves + i] - leaves] = std::move(node);
    }
    for (Id id = 0; id < given.start.size(); ++id) {
        other.start[newId[id]] = given.start[id];
    }
    return other;
}

/// The last id whose value or slot is not what it is in another order, named.
std::string differsInOrder(const WiringCase& wiring, const GivenNodes& given, const std::vector<Id>& newId)
{
    const GivenNodes moved = reordered(given, newId);
    const auto own = compiledOver(given.nodes, given.values);
    const std::vector<Number> a = tape::denseLoop<Number>(own, given.start).value();
    const auto other = compiledOver(moved.nodes, moved.values);
    const std::vector<Number> b = tape::denseLoop<Number>(other, moved.start).value();
    for (Id id = static_cast<Id>(a.size()); id-- > 0;) {
        const bool isValue = !(own.cell(id).value == other.cell(newId[id]).value);
        if (isValue || !(a[id] == b[newId[id]])) {
            return fmt::format("the {} of {} differs", isValue ? "value" : "slot", wiring.names[id]);
        }
    }
    return "";
}

std::string wrongOrder(const WiringCase& wiring, std::uint64_t seed, const ChangedMap& change)
{
    Drawer drawer(seed);
    GivenNodes given;
    given.nodes = mapsOf(wiring, change, [&](std::size_t count) { return drawer.numbers(count); });
    given.values = drawer.numbers(wiring.leaves);
    given.start = seedOf(wiring.size(), drawer);
    std::string wrong = differsInOrder(wiring, given, latestFirst(wiring));
    for (std::size_t i = 1; i < kOrders && wrong.empty(); ++i) {
        std::vector<std::uint64_t> ranks;
        std::ranges::transform(drawer.numbers(wiring.size()), std::back_inserter(ranks), &Modular::value);
        wrong = differsInOrder(wiring, given, orderedBy(wiring, ranks));
    }
    return wrong;
}

/// Books what each node must keep of what it receives: the share that its coefficients leave over, whatever its rule
/// then hands on. A leak read off the rule's own parts would close every ledger.
class Leaks final : public tape::Watcher<Number>
{
public:
    explicit Leaks(std::size_t leaves) : m_leaves(leaves) {}

    /// The coefficients of the next node.
    void expect(const std::vector<Modular>& coefficients)
    {
        Modular left(1);
        std::ranges::for_each(coefficients, [&left](Modular one) { left = left - one; });
        m_shares.push_back(left);
    }
    void onCell(Id id, const Number& up, const std::vector<tape::Contribution<Number>>& /*parts*/) override
    {
        m_sum += m_shares[id - m_leaves] * up.data.front();
    }
    [[nodiscard]] Modular sum() const { return m_sum; }

private:
    std::size_t m_leaves;
    std::vector<Modular> m_shares; ///< per node
    Modular m_sum = 0;
};

/// Nodes without operands keep what they receive, like leaves.
Modular held(const WiringCase& wiring, const std::vector<Number>& arrived)
{
    Modular sum(0);
    for (Id id = 0; id < arrived.size(); ++id) {
        const bool keeps = id < wiring.leaves || wiring.parents[id - wiring.leaves].empty();
        sum += keeps ? arrived[id].data.front() : Modular(0);
    }
    return sum;
}

std::string wrongTotal(const WiringCase& wiring, std::uint64_t seed, const ChangedMap& change)
{
    Drawer drawer(seed);
    const auto nodes = mapsOf(wiring, change, [&](std::size_t count) { return drawer.shares(count); });
    const auto tape = compiledOver(nodes, drawer.numbers(wiring.leaves));
    const Modular start = drawer.number();
    const auto arrived =
        tape::denseLoop<Number>(tape, tape::oneSeed(tape, wiring.target, tape::scalarArray(start))).value();
    return held(wiring, arrived) == start ? "" : "the leaves hold another total";
}

std::string wrongLeaks(const WiringCase& wiring, std::uint64_t seed, const ChangedMap& change)
{
    Drawer drawer(seed);
    Leaks leaks(wiring.leaves);
    const auto nodes = mapsOf(wiring, change, [&](std::size_t count) {
        std::vector<Modular> coefficients = drawer.numbers(count);
        leaks.expect(coefficients);
        return coefficients;
    });
    const auto tape = compiledOver(nodes, drawer.numbers(wiring.leaves));
    const Modular start = drawer.number();
    const auto arrived =
        tape::denseLoop<Number>(tape, tape::oneSeed(tape, wiring.target, tape::scalarArray(start)), &leaks).value();
    Modular sum = leaks.sum();
    for (std::size_t leaf = 0; leaf < tape.leafCount(); ++leaf) {
        sum += arrived[leaf].data.front();
    }
    return sum == start ? "" : "the ledger does not close";
}

/// The node that makes a value of this name.
std::string nodeNamed(const ModelTape& made, const std::string& value)
{
    for (Id id = 0; id < made.tape.size(); ++id) {
        if (made.nameOf(id) == value) {
            return nodeAt(made, id);
        }
    }
    return value;
}

} // namespace

PropertyResults checkWiring(const ModelTape& made, Id target, std::uint64_t seed, const ChangedMap& change)
{
    struct Property
    {
        const char* id;
        const char* statement;
        std::string (*wrong)(const WiringCase&, std::uint64_t, const ChangedMap&);
        const char* compared;
    };
    constexpr std::array kProperties{
        Property{"P7", "⟨tangents, seed⟩ = ⟨direction, gradients⟩", wrongAdjoint,
                 "exactly, over integers modulo 2⁶¹ − 1, on this graph's wiring"},
        Property{"P10", "another topological order permutes the result", wrongOrder,
                 "exactly, over integers modulo 2⁶¹ − 1: latest node first, and two random orders"},
        Property{"P11", "rules that hand on what they received: Σ leaves = Σ seeds", wrongTotal,
                 "exactly, over integers modulo 2⁶¹ − 1, with shares drawn per node"},
        Property{"P12", "Σ leaves + Σ leaks = Σ seeds", wrongLeaks,
                 "exactly, over integers modulo 2⁶¹ − 1, with coefficients drawn per node and leaks booked by them"}};
    const WiringCase wiring = wiringOf(made, target);
    PropertyResults results;
    for (const Property& property : kProperties) {
        if (property.wrong == wrongOrder && hasOneOrder(wiring)) {
            results.push_back({property.id, property.statement, PropertyState::NotApplicable,
                               "each node reads the one before it, so there is no other order"});
            continue;
        }
        const auto wrong = [&](const WiringCase& one) { return property.wrong(one, seed, change); };
        Counterexample found{wrong(wiring)};
        if (!found.text.empty()) {
            const WiringCase smallest = smallestCase(wiring, wrong);
            found = {fmt::format("{}; smallest case: {}", found.text, smallest.text()),
                     nodeNamed(made, smallest.names[smallest.target])};
        }
        results.push_back(judged(property.id, property.statement, found, property.compared));
    }
    std::ranges::move(checkWays(made, target), std::back_inserter(results));
    return results;
}

} // namespace retro::engine
