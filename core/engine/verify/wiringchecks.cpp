// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/wiringchecks.h"

#include "core/analysis/criticalsubgraph.h"
#include "core/engine/verify/reversecourse.h"
#include "core/tape/array/array.h"
#include "core/tape/scalar/flag.h"
#include "core/tape/scalar/modular.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <queue>
#include <random>
#include <ranges>

namespace retro::engine
{

using base::Result;
using tape::Array;
using tape::Flag;
using tape::Id;
using tape::ModelTape;
using tape::Modular;

namespace
{

using Number = Array<Modular>;

/// Σ cᵢ·xᵢ and its transpose.
template <class K>
class LinearOperator final : public tape::Operator<Array<K>>
{
public:
    explicit LinearOperator(std::vector<K> coefficients) : m_coefficients(std::move(coefficients)) {}

    [[nodiscard]] Result<Array<K>> forward(tape::Operands<Array<K>> operands,
                                           const tape::Payload<Array<K>>&) const override
    {
        K sum(0);
        for (std::size_t i = 0; i < operands.size(); ++i) {
            sum += m_coefficients[i] * operands[i]->data.front();
        }
        return tape::scalarArray(sum);
    }
    [[nodiscard]] Result<tape::Parts<Array<K>>> reverse(const tape::Site<Array<K>>&,
                                                        const Array<K>& upstream) const override
    {
        tape::Parts<Array<K>> parts;
        for (const K& coefficient : m_coefficients) {
            parts.push_back(tape::scalarArray(coefficient * upstream.data.front()));
        }
        return parts;
    }

private:
    std::vector<K> m_coefficients;
};

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

template <class K, class Coefficients>
tape::NodeList<Array<K>> wired(const WiringCase& wiring, const Coefficients& coefficients)
{
    tape::NodeList<Array<K>> nodes;
    for (const std::vector<Id>& parents : wiring.parents) {
        nodes.push_back({std::make_shared<LinearOperator<K>>(coefficients(parents.size())), parents});
    }
    return nodes;
}

template <class K>
tape::Tape<Array<K>> compiled(const tape::NodeList<Array<K>>& nodes, const std::vector<K>& leaves)
{
    std::vector<Array<K>> values;
    for (const K& leaf : leaves) {
        values.push_back(tape::scalarArray(leaf));
    }
    return tape::compile(nodes, std::move(values)).value(); // parents are those of a tape that exists
}

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
    tape::NodeList<Number> nodes = wired<Modular>(wiring, coefficients);
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
    const auto tangents = compiled(nodes, direction); // of linear maps: the same maps
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

/// A topological order drawn by chance: newId per old id, leaves stay.
std::vector<Id> shuffledIds(const WiringCase& wiring, std::uint64_t seed)
{
    const auto leaves = static_cast<Id>(wiring.leaves);
    std::vector<std::vector<Id>> readers(wiring.size());
    std::vector<std::size_t> open(wiring.size(), 0);
    std::vector<Id> ready;
    std::vector<Id> newId(wiring.size());
    for (Id id = leaves; id < wiring.size(); ++id) {
        for (const Id parent : wiring.parents[id - leaves]) {
            if (parent >= leaves) {
                readers[parent].push_back(id);
                ++open[id];
            }
        }
        if (open[id] == 0) {
            ready.push_back(id);
        }
    }
    std::iota(newId.begin(), newId.begin() + leaves, Id{0});
    std::mt19937_64 engine(seed);
    for (Id next = leaves; !ready.empty(); ++next) {
        std::swap(ready[engine() % ready.size()], ready.back());
        const Id picked = ready.back();
        ready.pop_back();
        newId[picked] = next;
        std::ranges::copy_if(readers[picked], std::back_inserter(ready),
                             [&](Id reader) { return --open[reader] == 0; });
    }
    return newId;
}

std::string wrongOrder(const WiringCase& wiring, std::uint64_t seed, const ChangedMap& change)
{
    Drawer drawer(seed);
    const auto nodes = mapsOf(wiring, change, [&](std::size_t count) { return drawer.numbers(count); });
    const std::vector<Id> newId = shuffledIds(wiring, seed);
    const std::size_t leaves = wiring.leaves;
    tape::NodeList<Number> other(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        tape::Node<Number> node = nodes[i];
        std::ranges::for_each(node.parents, [&newId](Id& parent) { parent = newId[parent]; });
        other[newId[leaves + i] - leaves] = std::move(node);
    }
    const std::vector<Modular> values = drawer.numbers(leaves);
    const std::vector<Number> start = seedOf(wiring.size(), drawer);
    std::vector<Number> otherStart = start;
    for (Id id = 0; id < start.size(); ++id) {
        otherStart[newId[id]] = start[id];
    }
    const std::vector<Number> a = tape::denseLoop<Number>(compiled(nodes, values), start).value();
    const std::vector<Number> b = tape::denseLoop<Number>(compiled(other, values), otherStart).value();
    for (Id id = static_cast<Id>(a.size()); id-- > 0;) {
        if (!(a[id] == b[newId[id]])) {
            return fmt::format("the slot of {} differs", wiring.names[id]);
        }
    }
    return "";
}

/// What rules received and did not hand on.
class Leaks final : public tape::Watcher<Number>
{
public:
    Modular sum = 0;
    void onCell(Id, const Number& up, const std::vector<tape::Contribution<Number>>& list) override
    {
        sum += up.data.front();
        for (const auto& part : list) {
            sum = sum - part.value.data.front();
        }
    }
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
    const auto tape = compiled(nodes, drawer.numbers(wiring.leaves));
    const Modular start = drawer.number();
    const auto arrived =
        tape::denseLoop<Number>(tape, tape::oneSeed(tape, wiring.target, tape::scalarArray(start))).value();
    return held(wiring, arrived) == start ? "" : "the leaves hold another total";
}

std::string wrongLeaks(const WiringCase& wiring, std::uint64_t seed, const ChangedMap& change)
{
    Drawer drawer(seed);
    const auto nodes = mapsOf(wiring, change, [&](std::size_t count) { return drawer.numbers(count); });
    const auto tape = compiled(nodes, drawer.numbers(wiring.leaves));
    const Modular start = drawer.number();
    Leaks leaks;
    const auto arrived =
        tape::denseLoop<Number>(tape, tape::oneSeed(tape, wiring.target, tape::scalarArray(start)), &leaks).value();
    Modular sum = leaks.sum;
    for (std::size_t leaf = 0; leaf < tape.leafCount(); ++leaf) {
        sum += arrived[leaf].data.front();
    }
    return sum == start ? "" : "the ledger does not close";
}

PropertyResult checkReach(const ModelTape& made, Id target)
{
    const auto nodes =
        wired<Flag>(wiringOf(made, target), [](std::size_t count) { return std::vector<Flag>(count, Flag(1)); });
    const auto tape = compiled(nodes, std::vector<Flag>(made.tape.leafCount(), Flag(1)));
    const auto arrived =
        tape::denseLoop<Array<Flag>>(tape, tape::oneSeed(tape, target, tape::scalarArray(Flag(1)))).value();
    const analysis::Flow flow = analysis::flowOf(made.model->graph(), [](base::NodeId, std::size_t) { return true; });
    const std::array<analysis::FlowName, 1> outputs{made.valueOf[target].value};
    const analysis::CriticalSubgraph cone = analysis::criticalSubgraph(flow, outputs, {});
    std::vector<std::uint8_t> inCone(made.model->graph().nodeCount(), 0);
    std::ranges::for_each(cone.backwardCone, [&inCone](std::uint32_t id) { inCone[id] = 1; });
    std::vector<std::uint8_t> isReached(inCone.size(), 0);
    for (Id id = 0; id < tape.size(); ++id) {
        if (made.nodeOf[id].isValid() && arrived[id].data.front().isSet) {
            isReached[made.nodeOf[id].index()] = 1;
        }
    }
    Counterexample wrong;
    for (std::size_t node = inCone.size(); node-- > 0 && wrong.text.empty();) {
        if (inCone[node] != isReached[node]) {
            const std::string& name = made.model->graph().nodes()[node].name;
            wrong = {fmt::format("only one of both reaches {}; behind it both reach the same", name), name};
        }
    }
    return judged("P13", "over flags, a slot is set where its id reaches the seed", wrong,
                  "against the backward cone of the graph");
}

/// Ways from the target back to every value, counted on the graph and not on the tape.
std::vector<Modular> pathCounts(const graph::Graph& graph, base::ValueId target)
{
    std::vector<Modular> counts(graph.valueCount(), Modular(0));
    counts[target.index()] = 1;
    for (std::size_t node = graph.nodeCount(); node-- > 0;) {
        const auto isThere = [](base::ValueId value) { return value.isValid(); };
        Modular ways(0);
        for (const base::ValueId output : graph.nodes()[node].outputs | std::views::filter(isThere)) {
            ways += counts[output.index()];
        }
        for (const base::ValueId input : graph.nodes()[node].inputs | std::views::filter(isThere)) {
            counts[input.index()] += ways;
        }
    }
    return counts;
}

PropertyResult checkPaths(const ModelTape& made, Id target)
{
    const auto nodes = wired<Modular>(wiringOf(made, target),
                                      [](std::size_t count) { return std::vector<Modular>(count, Modular(1)); });
    const auto tape = compiled(nodes, std::vector<Modular>(made.tape.leafCount(), Modular(1)));
    const auto arrived =
        tape::denseLoop<Number>(tape, tape::oneSeed(tape, target, tape::scalarArray(Modular(1)))).value();
    const graph::Graph& graph = made.model->graph();
    const std::vector<Modular> counts = pathCounts(graph, made.valueOf[target]);
    Counterexample wrong;
    for (Id id = static_cast<Id>(tape.size()); id-- > 0 && wrong.text.empty();) {
        const base::ValueId value = made.valueOf[id];
        if (value.isValid() && !(arrived[id].data.front() == counts[value.index()])) {
            wrong = {fmt::format("{} ways by the tape, {} by the graph, from {}", arrived[id].data.front().value(),
                                 counts[value.index()].value(), made.nameOf(id)),
                     made.nodeOf[id].isValid() ? graph.node(made.nodeOf[id]).name : made.nameOf(id)};
        }
    }
    return judged("P14", "over counts, a slot holds the number of ways from its id to the seed", wrong,
                  "modulo 2⁶¹ − 1, against ways counted on the graph");
}

} // namespace

namespace
{

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
                 "exactly, over integers modulo 2⁶¹ − 1, one other order"},
        Property{"P11", "rules that hand on what they received: Σ leaves = Σ seeds", wrongTotal,
                 "exactly, over integers modulo 2⁶¹ − 1, with shares drawn per node"},
        Property{"P12", "Σ leaves + Σ leaks = Σ seeds", wrongLeaks,
                 "exactly, over integers modulo 2⁶¹ − 1, with coefficients drawn per node"}};
    const WiringCase wiring = wiringOf(made, target);
    PropertyResults results;
    for (const Property& property : kProperties) {
        const auto wrong = [&](const WiringCase& one) { return property.wrong(one, seed, change); };
        Counterexample found{wrong(wiring)};
        if (!found.text.empty()) {
            const WiringCase smallest = smallestCase(wiring, wrong);
            found = {fmt::format("{}; smallest case: {}", found.text, smallest.text()),
                     nodeNamed(made, smallest.names[smallest.target])};
        }
        results.push_back(judged(property.id, property.statement, found, property.compared));
    }
    results.push_back(checkReach(made, target));
    results.push_back(checkPaths(made, target));
    return results;
}

} // namespace retro::engine
