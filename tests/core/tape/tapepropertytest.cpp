// SPDX-License-Identifier: Apache-2.0
// P1 to P10 over random graphs, for every scalar that they mean something for. Numbers are those of docs/tape.md.
#include "core/tape/recursion.h"
#include "tests/core/tape/scalars.h"
#include "tests/core/tape/symbol.h"
#include "tests/core/tape/tapeproperties.h"

#include <QtTest>

#include <random>

using namespace retro;
using namespace retro::tape;
using namespace retro::tapetest;

namespace
{

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

/// ⟨tangents, seed⟩ and ⟨direction, gradients⟩.
template <class K>
struct Pairings
{
    K left = K(0);
    K right = K(0);
};

/// Of the random graph of at most `most` nodes.
template <class K>
Pairings<K> pairingsOf(const Choices& choices, std::uint32_t start, std::size_t most)
{
    RandomTape random = randomTape(choices);
    random.steps.resize(std::min(random.steps.size(), most));
    const Made<K> made(random, start);
    SmallNumbers numbers(start + 1);
    const std::vector<Array<K>> direction = leavesOf<K>(random, numbers);
    std::vector<Array<Dual<K>>> moving;
    for (std::size_t leaf = 0; leaf < direction.size(); ++leaf) {
        moving.push_back({direction[leaf].shape, {}});
        for (std::size_t i = 0; i < direction[leaf].data.size(); ++i) {
            moving.back().data.push_back({made.leaves[leaf].data[i], direction[leaf].data[i]});
        }
    }
    Payload<Array<Dual<K>>> still; // a payload is never differentiated
    for (const auto& [key, value] : made.payload) {
        still.emplace(key, scalarArray(Dual<K>{value.data.front(), K(0)}));
    }
    const auto tangents = taken(evaluate<Array<Dual<K>>>(nodesOf<Dual<K>>(random), moving, still));
    const auto accumulated = taken(denseLoop<Array<K>>(made.tape(), made.seed));
    Pairings<K> both;
    for (std::size_t id = 0; id < tangents.size(); ++id) {
        for (std::size_t i = 0; i < tangents[id].data.size(); ++i) {
            both.left = both.left + tangents[id].data[i].tangent * made.seed[id].data[i];
        }
        both.right = id < direction.size() ? both.right + dot(direction[id], accumulated[id]) : both.right;
    }
    return both;
}

constexpr const char* kAdjoint = "P7: ⟨tangents, seed⟩ = ⟨dx, gradients⟩";
constexpr const char* kEachOperator = "P8: ⟨tangent, seed⟩ = ⟨dx, parts⟩ per operator";
constexpr std::size_t kMostNodes = 40;

/// P7; of one operator at a time (`most` = 1), P8.
template <class K>
void gradientIsAdjoint(const char* name, std::size_t most)
{
    const bool held = holds(name, [most](const Choices& choices, std::uint32_t start) {
        const Pairings<K> both = pairingsOf<K>(choices, start, most);
        RC_ASSERT(both.left == both.right);
    });
    QVERIFY(held);
}

/// The same for numbers that are rounded: both sides are where rounding may have put them, and those places meet in the
/// exact number.
template <class T>
void gradientIsAdjointButForRounding(const char* name, std::size_t most)
{
    const bool held = holds(name, [most](const Choices& choices, std::uint32_t start) {
        const Pairings<T> both = pairingsOf<T>(choices, start, most);
        const Pairings<IntervalOf<T>> wide = pairingsOf<IntervalOf<T>>(choices, start, most);
        RC_ASSERT(wide.left.holds(both.left) && wide.right.holds(both.right));
        RC_ASSERT(wide.left.meets(wide.right));
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

} // namespace

class TapePropertyTest : public QObject
{
    Q_OBJECT

private slots:
    void compileInFloat() { compileAgreesWithEvaluation<float>(); }
    void compileInDouble() { compileAgreesWithEvaluation<double>(); }
    void compileInModular() { compileAgreesWithEvaluation<Modular>(); }
    void compileInRational() { compileAgreesWithEvaluation<Rational>(); }
    void compileInDual() { compileAgreesWithEvaluation<DualNumber>(); }
    void compileInFlags() { compileAgreesWithEvaluation<Flag>(); }
    void compileInCounts() { compileAgreesWithEvaluation<Count>(); }
    void compileInInterval() { compileAgreesWithEvaluation<Interval>(); }

    void loopInFloat() { loopIsRecursion<float>(); }
    void loopInDouble() { loopIsRecursion<double>(); }
    void loopInModular() { loopIsRecursion<Modular>(); }
    void loopInRational() { loopIsRecursion<Rational>(); }
    void loopInDual() { loopIsRecursion<DualNumber>(); }
    void loopInInterval() { loopIsRecursion<Interval>(); }
    void loopInFlags() { loopIsRecursion<Flag>(); }
    void loopInCounts() { loopIsRecursion<Count>(); }

    // Not over intervals, which grow when zero is added, nor over symbols, whose zero is no zero of their sum.
    void skipInFloat() { skippingIsDense<float>(); }
    void skipInDouble() { skippingIsDense<double>(); }
    void skipInModular() { skippingIsDense<Modular>(); }
    void skipInRational() { skippingIsDense<Rational>(); }
    void skipInDual() { skippingIsDense<DualNumber>(); }
    void skipInFlags() { skippingIsDense<Flag>(); }
    void skipInCounts() { skippingIsDense<Count>(); }

    void adjointInFloat() { gradientIsAdjointButForRounding<float>(kAdjoint, kMostNodes); }
    void adjointInDouble() { gradientIsAdjointButForRounding<double>(kAdjoint, kMostNodes); }
    void adjointInModular() { gradientIsAdjoint<Modular>(kAdjoint, kMostNodes); }
    void adjointInRational() { gradientIsAdjoint<Rational>(kAdjoint, kMostNodes); }
    void adjointInDual() { gradientIsAdjoint<DualNumber>(kAdjoint, kMostNodes); }

    void eachOperatorInFloat() { gradientIsAdjointButForRounding<float>(kEachOperator, 1); }
    void eachOperatorInDouble() { gradientIsAdjointButForRounding<double>(kEachOperator, 1); }
    void eachOperatorInModular() { gradientIsAdjoint<Modular>(kEachOperator, 1); }
    void eachOperatorInRational() { gradientIsAdjoint<Rational>(kEachOperator, 1); }
    void eachOperatorInDual() { gradientIsAdjoint<DualNumber>(kEachOperator, 1); }

    // Not over intervals and symbols, as for P6.
    void appendInFloat() { appendedCellLeavesOldSlots<float>(); }
    void appendInDouble() { appendedCellLeavesOldSlots<double>(); }
    void appendInModular() { appendedCellLeavesOldSlots<Modular>(); }
    void appendInRational() { appendedCellLeavesOldSlots<Rational>(); }
    void appendInDual() { appendedCellLeavesOldSlots<DualNumber>(); }
    void appendInFlags() { appendedCellLeavesOldSlots<Flag>(); }
    void appendInCounts() { appendedCellLeavesOldSlots<Count>(); }

    // Not over float and double: parts are added in another order there, and rounded in another way.
    void permuteInModular() { orderDoesNotMatter<Modular>(); }
    void permuteInRational() { orderDoesNotMatter<Rational>(); }
    void permuteInDual() { orderDoesNotMatter<DualNumber>(); }
    void permuteInFlags() { orderDoesNotMatter<Flag>(); }
    void permuteInCounts() { orderDoesNotMatter<Count>(); }

    // The text of a sum is its order of addition.
    void loopAndRecursionAddInTheSameOrder()
    {
        QVERIFY(holds("P1 to P5 over symbols", [](const Choices& choices, std::uint32_t) {
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
            const std::vector<Array<Symbol>> leaves(random.leaves.size(), scalarArray(Symbol("x")));
            const Payload<Array<Symbol>> none;
            const auto context = taken(evaluate<Array<Symbol>>(nodes, leaves, none));
            const Tape<Array<Symbol>> tape = taken(compile(nodes, leaves));
            RC_ASSERT(valuesOf(tape) == context);
            Direction<Symbol> direction;
            const auto dense = taken(denseLoop<Array<Symbol>>(tape, seed, &direction));
            RC_ASSERT(direction.wrong == 0);
            RC_ASSERT(dense == taken(recursion<Array<Symbol>>(nodes, {context, none, Zeros::LeftOut}, seed)));
        }));
    }

    /// The graphs above hold steps of both variants, and what a step of the payload hands back follows it.
    void aPayloadThatIsMissingIsNamed()
    {
        QVERIFY(holds("a payload is read by key", [](const Choices& choices, std::uint32_t start) {
            const RandomTape random = randomTape(choices);
            const Made<Modular> made(random, start);
            const auto reads = std::ranges::find(random.steps, "payload_scale", &RandomTape::Step::op);
            const auto tape = compile(made.nodes, made.leaves);
            RC_ASSERT(tape.ok() == (reads == random.steps.end()));
            if (!tape.ok()) {
                RC_ASSERT(tape.error().kind == FaultKind::ForwardFailed);
                RC_ASSERT(tape.error().id ==
                          random.leaves.size() + static_cast<std::size_t>(reads - random.steps.begin()));
                RC_ASSERT(tape.error().message.find(reads->key) != std::string::npos);
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
            const auto tape = compile(made.nodes, made.leaves, made.payload);
            RC_ASSERT(!tape.ok());
            RC_ASSERT(tape.error().kind == FaultKind::LaterParent && tape.error().id == own);
        }));
    }
};

QTEST_APPLESS_MAIN(TapePropertyTest)
#include "tapepropertytest.moc"
