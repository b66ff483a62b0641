// SPDX-License-Identifier: Apache-2.0
// The properties of the tape over random graphs, for every scalar. Numbers are those of docs/tape.md.
#include "core/tape/recursion.h"
#include "core/tape/scalar/dual.h"
#include "core/tape/scalar/machine.h"
#include "core/tape/scalar/modular.h"
#include "core/tape/scalar/rational.h"
#include "tests/core/tape/randomtape.h"
#include "tests/core/tape/scalars.h"
#include "tests/core/tape/symbol.h"

#include <rapidcheck.h>

#include <QtTest>

#include <bit>
#include <cstdint>
#include <functional>
#include <random>

using namespace retro;
using namespace retro::tape;
using namespace retro::tapetest;

namespace
{

using Choices = std::vector<std::uint32_t>;

/// What is claimed of the random graph that `choices` make, with numbers that begin at `start`.
using Property = std::function<void(const Choices& choices, std::uint32_t start)>;

/// Prints what does not hold. RapidCheck's machinery is made from templates once here, not for every property and
/// scalar.
bool holds(const std::string& name, const Property& property)
{
    return rc::check(name, [&property](const Choices& choices, std::uint32_t start) { property(choices, start); });
}

template <class K>
bool sameBits(const K& a, const K& b)
{
    return a == b;
}
bool sameBits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }
bool sameBits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

template <class K>
bool sameBits(const std::vector<Array<K>>& a, const std::vector<Array<K>>& b)
{
    return std::ranges::equal(a, b, [](const Array<K>& x, const Array<K>& y) {
        return x.shape == y.shape &&
               std::ranges::equal(x.data, y.data, [](const K& p, const K& q) { return sameBits(p, q); });
    });
}

template <class K>
struct Made
{
    NodeList<Array<K>> nodes;
    std::vector<Array<K>> leaves;
    std::vector<Array<K>> seed;
    Payload<Array<K>> payload;

    Made(const RandomTape& random, std::uint32_t start) : nodes(nodesOf<K>(random))
    {
        SmallNumbers numbers(start);
        leaves = leavesOf<K>(random, numbers);
        seed = seedOf<K>(random, numbers);
    }
    [[nodiscard]] Tape<Array<K>> tape() const { return taken(compile(nodes, leaves, payload)); }
    [[nodiscard]] std::vector<Array<K>> context() const { return taken(evaluate<Array<K>>(nodes, leaves, payload)); }
};

template <class K>
std::vector<Array<K>> valuesOf(const Tape<Array<K>>& tape)
{
    std::vector<Array<K>> values;
    for (Id id = 0; id < tape.size(); ++id) {
        values.push_back(tape.cell(id).value);
    }
    return values;
}

/// Counts contributions that do not go to an earlier id.
template <class K>
class Direction final : public Watcher<Array<K>>
{
public:
    int wrong = 0;
    Id last = std::numeric_limits<Id>::max();

    void onCell(Id id, const Array<K>&, const std::vector<Contribution<Array<K>>>& list) override
    {
        wrong += id < last ? 0 : 1;
        last = id;
        for (std::size_t i = 0; i < list.size(); ++i) {
            wrong += list[i].parent < id && (i == 0 || list[i - 1].parent < list[i].parent) ? 0 : 1;
        }
    }
};

template <class K>
void compileAgreesWithEvaluation()
{
    const bool held = holds("P1, P2, P3: size, context and values", [](const Choices& choices, std::uint32_t start) {
        const RandomTape random = randomTape(choices);
        const Made<K> made(random, start);
        const Tape<Array<K>> tape = made.tape();
        RC_ASSERT(tape.size() == made.leaves.size() + made.nodes.size());
        RC_ASSERT(sameBits(valuesOf(tape), made.context()));
    });
    QVERIFY(held);
}

template <class K>
void loopIsRecursion()
{
    const bool held = holds("P4, P5: dense loop = recursion, slot by slot", [](const Choices& choices,
                                                                               std::uint32_t start) {
        const Made<K> made(randomTape(choices), start);
        const std::vector<Array<K>> context = made.context();
        Direction<K> direction;
        const auto dense = taken(denseLoop<Array<K>>(made.tape(), made.seed, &direction));
        const auto compact = taken(recursion<Array<K>>(made.nodes, {context, made.payload, Zeros::LeftOut}, made.seed));
        const auto full = taken(recursion<Array<K>>(made.nodes, {context, made.payload, Zeros::Added}, made.seed));
        RC_ASSERT(direction.wrong == 0);
        RC_ASSERT(sameBits(dense, compact));
        // By value: −0 + 0 = 0. An interval grows when zero is added to it.
        RC_ASSERT((std::is_same_v<K, Interval> || dense == full));
    });
    QVERIFY(held);
}

template <class K>
void skippingIsDense()
{
    const bool held = holds("P6: skipping loop = dense loop", [](const Choices& choices, std::uint32_t start) {
        const Made<K> made(randomTape(choices), start);
        const Tape<Array<K>> tape = made.tape();
        const Id out = static_cast<Id>(start % tape.size());
        for (Id id = 0; id < tape.size(); ++id) {
            RC_ASSERT(taken(preservesZero(tape, id)));
        }
        Slots<Array<K>> accumulated(tape.size());
        accumulated[out] = made.seed[out];
        const auto skipped = filled(tape, taken(skippingLoop<Array<K>>(tape, accumulated)));
        RC_ASSERT(skipped == taken(denseLoop<Array<K>>(tape, oneSeed(tape, out, made.seed[out]))));
    });
    QVERIFY(held);
}

/// P7; of one operator at a time (`most` = 1), P8.
template <class K>
void gradientIsAdjoint(const std::string& name, std::size_t most = 40)
{
    const bool held = holds(name, [most](const Choices& choices, std::uint32_t start) {
        RandomTape random = randomTape(choices);
        random.steps.resize(std::min(random.steps.size(), most));
        const Made<K> made(random, start);
        Made<Dual<K>> dual(random, start);
        SmallNumbers numbers(start + 1);
        const std::vector<Array<K>> direction = leavesOf<K>(random, numbers);
        for (std::size_t leaf = 0; leaf < direction.size(); ++leaf) {
            for (std::size_t i = 0; i < direction[leaf].data.size(); ++i) {
                dual.leaves[leaf].data[i].tangent = direction[leaf].data[i];
            }
        }
        const auto tangents = dual.context();
        const auto accumulated = taken(denseLoop<Array<K>>(made.tape(), made.seed));
        K left(0);
        K right(0);
        for (std::size_t id = 0; id < tangents.size(); ++id) {
            for (std::size_t i = 0; i < tangents[id].data.size(); ++i) {
                left = left + tangents[id].data[i].tangent * made.seed[id].data[i];
            }
            right = id < direction.size() ? right + dot(direction[id], accumulated[id]) : right;
        }
        RC_ASSERT(left == right);
    });
    QVERIFY(held);
}

template <class K>
void appendedCellLeavesOldSlots()
{
    const bool held = holds("P9: a cell more, with nothing arriving there, changes nothing",
                            [](const Choices& choices, std::uint32_t start) {
                                Made<K> made(randomTape(choices), start);
                                const auto before = taken(denseLoop<Array<K>>(made.tape(), made.seed));
                                const Id parent = static_cast<Id>(start % before.size());
                                made.nodes.push_back({*makeArrayOperator<K>({"add"}, 2), {parent, parent}});
                                made.seed.push_back(ValueTraits<Array<K>>::zeroLike(before[parent]));
                                auto after = taken(denseLoop<Array<K>>(made.tape(), made.seed));
                                after.pop_back();
                                RC_ASSERT(after == before);
                            });
    QVERIFY(held);
}

/// Another topological order of the same graph: newId per old id.
std::vector<Id> shuffledOrder(const RandomTape& random, std::uint32_t start)
{
    std::minstd_rand engine(start + 1);
    std::vector<Id> newId(random.size(), 0);
    std::vector<bool> isPlaced(random.size(), false);
    for (Id id = 0; id < random.leaves.size(); ++id) {
        newId[id] = id;
        isPlaced[id] = true;
    }
    for (Id next = static_cast<Id>(random.leaves.size()); next < random.size(); ++next) {
        std::vector<Id> ready;
        for (Id id = 0; id < random.size(); ++id) {
            const auto isReady = [&] {
                return std::ranges::all_of(random.steps[id - random.leaves.size()].parents,
                                           [&](Id parent) { return isPlaced[parent]; });
            };
            if (!isPlaced[id] && isReady()) {
                ready.push_back(id);
            }
        }
        const Id picked = ready[engine() % ready.size()];
        newId[picked] = next;
        isPlaced[picked] = true;
    }
    return newId;
}

template <class K>
void orderDoesNotMatter()
{
    const bool held =
        holds("P10: another topological order permutes the result", [](const Choices& choices, std::uint32_t start) {
            const RandomTape random = randomTape(choices);
            const Made<K> made(random, start);
            const std::vector<Id> newId = shuffledOrder(random, start);
            Made<K> other = made;
            for (Id id = static_cast<Id>(random.leaves.size()); id < random.size(); ++id) {
                Node<Array<K>> node = made.nodes[id - random.leaves.size()];
                for (Id& parent : node.parents) {
                    parent = newId[parent];
                }
                other.nodes[newId[id] - random.leaves.size()] = node;
            }
            for (Id id = 0; id < random.size(); ++id) {
                other.seed[newId[id]] = made.seed[id];
            }
            const auto a = taken(denseLoop<Array<K>>(made.tape(), made.seed));
            const auto b = taken(denseLoop<Array<K>>(other.tape(), other.seed));
            for (Id id = 0; id < random.size(); ++id) {
                RC_ASSERT(a[id] == b[newId[id]]);
            }
        });
    QVERIFY(held);
}

/// Scalar wiring of a random graph with a rule of one's own: `parts(upstream, operands)`.
template <class K, class Rule>
NodeList<Array<K>> wiringOf(const RandomTape& random, const Rule& parts)
{
    NodeList<Array<K>> nodes;
    for (const RandomTape::Step& step : random.steps) {
        auto op = std::make_shared<FunctionOperator<Array<K>>>(
            [](Operands<Array<K>> x, const Payload<Array<K>>&) -> base::Result<Array<K>> { return *x.front(); },
            [parts](const Site<Array<K>>& site, const Array<K>& up) -> base::Result<Parts<Array<K>>> {
                Parts<Array<K>> list;
                for (const K& part : parts(up.data.front(), site.operands.size())) {
                    list.push_back(scalarArray(part));
                }
                return list;
            });
        nodes.push_back({op, step.parents});
    }
    return nodes;
}

template <class K>
std::vector<Array<K>> scalars(std::size_t count, const K& value)
{
    return std::vector<Array<K>>(count, scalarArray(value));
}

/// Sums of the seeds, of what lies at the leaves, and of what the rules kept or made.
struct Ledger final : Watcher<Array<Rational>>
{
    Rational leaked = 0;
    void onCell(Id, const Array<Rational>& up, const std::vector<Contribution<Array<Rational>>>& list) override
    {
        leaked = leaked + total(up);
        for (const auto& part : list) {
            leaked = leaked - total(part.value);
        }
    }
};

} // namespace

class TapePropertyTest : public QObject
{
    Q_OBJECT

private slots:
    void compileInFloat() { compileAgreesWithEvaluation<float>(); }
    void compileInModular() { compileAgreesWithEvaluation<Modular>(); }
    void compileInRational() { compileAgreesWithEvaluation<Rational>(); }

    void loopInFloat() { loopIsRecursion<float>(); }
    void loopInDouble() { loopIsRecursion<double>(); }
    void loopInModular() { loopIsRecursion<Modular>(); }
    void loopInRational() { loopIsRecursion<Rational>(); }
    void loopInDual() { loopIsRecursion<Dual<Modular>>(); }
    void loopInInterval() { loopIsRecursion<Interval>(); }

    void skipInFloat() { skippingIsDense<float>(); }
    void skipInModular() { skippingIsDense<Modular>(); }
    void skipInRational() { skippingIsDense<Rational>(); }

    void adjointInModular() { gradientIsAdjoint<Modular>("P7: ⟨tangents, seed⟩ = ⟨dx, gradients⟩"); }
    void adjointInRational() { gradientIsAdjoint<Rational>("P7: ⟨tangents, seed⟩ = ⟨dx, gradients⟩"); }
    void eachOperatorInModular() { gradientIsAdjoint<Modular>("P8: ⟨tangent, seed⟩ = ⟨dx, parts⟩ per operator", 1); }
    void eachOperatorInRational() { gradientIsAdjoint<Rational>("P8: ⟨tangent, seed⟩ = ⟨dx, parts⟩ per operator", 1); }

    void appendInModular() { appendedCellLeavesOldSlots<Modular>(); }
    void appendInFloat() { appendedCellLeavesOldSlots<float>(); }

    void permuteInModular() { orderDoesNotMatter<Modular>(); }
    void permuteInRational() { orderDoesNotMatter<Rational>(); }

    // The text of a sum is its order of addition.
    void loopAndRecursionAddInTheSameOrder()
    {
        QVERIFY(holds("P5 over symbols", [](const Choices& choices, std::uint32_t) {
            RandomTape random = randomTape(choices);
            random.steps.resize(std::min<std::size_t>(random.steps.size(), 12));
            NodeList<Array<Symbol>> nodes;
            std::vector<Array<Symbol>> seed;
            for (const RandomTape::Step& step : random.steps) {
                OperatorSpec<Symbol> spec{"sym"};
                spec.key = "n" + std::to_string(nodes.size()) + "_";
                nodes.push_back({*makeArrayOperator<Symbol>(spec, step.parents.size()), step.parents});
            }
            for (Id id = 0; id < random.size(); ++id) {
                seed.push_back(scalarArray(Symbol("s" + std::to_string(id))));
            }
            const std::vector<Array<Symbol>> leaves = scalars(random.leaves.size(), Symbol("x"));
            const Payload<Array<Symbol>> none;
            const auto context = taken(evaluate<Array<Symbol>>(nodes, leaves, none));
            const auto dense = taken(denseLoop<Array<Symbol>>(taken(compile(nodes, leaves)), seed));
            RC_ASSERT(dense == taken(recursion<Array<Symbol>>(nodes, {context, none, Zeros::LeftOut}, seed)));
        }));
    }

    void conservingRulesKeepTheTotal()
    {
        QVERIFY(holds("P11: Σ leaves = Σ seeds", [](const Choices& choices, std::uint32_t start) {
            const RandomTape random = randomTape(choices);
            const auto halves = [](const Rational& up, std::size_t operands) {
                return operands == 1 ? std::vector<Rational>{up}
                                     : std::vector<Rational>{up * Rational(1, 3), up * Rational(2, 3)};
            };
            const auto tape =
                taken(compile(wiringOf<Rational>(random, halves), scalars(random.leaves.size(), Rational(1))));
            const Id out = static_cast<Id>(start % tape.size());
            const auto accumulated =
                taken(denseLoop<Array<Rational>>(tape, oneSeed(tape, out, scalarArray(Rational(1)))));
            Rational sum = 0;
            for (std::size_t leaf = 0; leaf < tape.leafCount(); ++leaf) {
                sum = sum + accumulated[leaf].data.front();
            }
            RC_ASSERT(sum == Rational(1));
        }));
    }

    void leaksCloseTheLedger()
    {
        QVERIFY(holds("P12: Σ leaves + Σ leaks = Σ seeds", [](const Choices& choices, std::uint32_t start) {
            const RandomTape random = randomTape(choices);
            const auto leaky = [](const Rational& up, std::size_t operands) {
                return std::vector<Rational>(operands, up * Rational(1, 4));
            };
            const auto tape =
                taken(compile(wiringOf<Rational>(random, leaky), scalars(random.leaves.size(), Rational(1))));
            Ledger ledger;
            const Id out = static_cast<Id>(start % tape.size());
            const auto accumulated =
                taken(denseLoop<Array<Rational>>(tape, oneSeed(tape, out, scalarArray(Rational(5))), &ledger));
            Rational sum = ledger.leaked;
            for (std::size_t leaf = 0; leaf < tape.leafCount(); ++leaf) {
                sum = sum + accumulated[leaf].data.front();
            }
            RC_ASSERT(sum == Rational(5));
        }));
    }

    void flagsAreReachability()
    {
        QVERIFY(
            holds("P13: a slot is set where the id reaches the seed", [](const Choices& choices, std::uint32_t start) {
                const RandomTape random = randomTape(choices);
                const auto pass = [](const Flag& up, std::size_t operands) { return std::vector<Flag>(operands, up); };
                const auto tape = taken(compile(wiringOf<Flag>(random, pass), scalars(random.leaves.size(), Flag(1))));
                const Id out = static_cast<Id>(start % tape.size());
                const auto accumulated = taken(denseLoop<Array<Flag>>(tape, oneSeed(tape, out, scalarArray(Flag(1)))));
                std::vector<bool> reaches(tape.size(), false);
                reaches[out] = true;
                for (Id id = out + 1; id-- > random.leaves.size();) {
                    for (const Id parent : random.steps[id - random.leaves.size()].parents) {
                        reaches[parent] = reaches[parent] || reaches[id];
                    }
                }
                for (Id id = 0; id < tape.size(); ++id) {
                    RC_ASSERT(accumulated[id].data.front().isSet == reaches[id]);
                }
            }));
    }

    void countsArePaths()
    {
        QVERIFY(holds("P14: a slot counts the paths to the seed", [](const Choices& choices, std::uint32_t start) {
            const RandomTape random = randomTape(choices);
            const auto pass = [](std::int64_t up, std::size_t n) { return std::vector<std::int64_t>(n, up); };
            const auto tape =
                taken(compile(wiringOf<std::int64_t>(random, pass), scalars<std::int64_t>(random.leaves.size(), 1)));
            const Id out = static_cast<Id>(start % tape.size());
            const auto accumulated =
                taken(denseLoop<Array<std::int64_t>>(tape, oneSeed(tape, out, scalarArray<std::int64_t>(1))));
            // Forward from each id: how often it is read on the way to `out`.
            for (Id from = 0; from < tape.size(); ++from) {
                std::vector<std::int64_t> paths(tape.size(), 0);
                paths[from] = 1;
                for (Id id = static_cast<Id>(random.leaves.size()); id < tape.size(); ++id) {
                    for (const Id parent : random.steps[id - random.leaves.size()].parents) {
                        paths[id] += id > from ? paths[parent] : 0;
                    }
                }
                RC_ASSERT(accumulated[from].data.front() == paths[out]);
            }
        }));
    }

    void intervalsHoldTheGradient()
    {
        QVERIFY(holds("intervals enclose the exact gradient", [](const Choices& choices, std::uint32_t start) {
            const RandomTape random = randomTape(choices);
            const Made<Interval> wide(random, start);
            const Made<Rational> exact(random, start);
            const auto a = taken(denseLoop<Array<Interval>>(wide.tape(), wide.seed));
            const auto b = taken(denseLoop<Array<Rational>>(exact.tape(), exact.seed));
            for (std::size_t id = 0; id < a.size(); ++id) {
                for (std::size_t i = 0; i < a[id].data.size(); ++i) {
                    RC_ASSERT(a[id].data[i].holds(b[id].data[i].toDouble()));
                }
            }
        }));
    }

    void anOperandThatIsNotEarlierIsRefused()
    {
        QVERIFY(holds("P4: a later operand is refused by name", [](const Choices& choices, std::uint32_t start) {
            Made<Modular> made(randomTape(choices), start);
            RC_PRE(!made.nodes.empty());
            const std::size_t at = start % made.nodes.size();
            const auto own = static_cast<Id>(made.leaves.size() + at);
            made.nodes[at].parents.back() = own + start % 3;
            const auto tape = compile(made.nodes, made.leaves);
            RC_ASSERT(!tape.ok());
            RC_ASSERT(tape.error().kind == FaultKind::LaterParent && tape.error().id == own);
        }));
    }
};

QTEST_APPLESS_MAIN(TapePropertyTest)
#include "tapepropertytest.moc"
